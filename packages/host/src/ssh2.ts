// Imported lazily: without servers reached by SSH and without keys nothing needs it.
export { default } from "ssh2";
