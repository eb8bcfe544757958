export { defineStopOfApplication as define } from "./lifecycle.ts";
