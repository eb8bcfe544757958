// Imported lazily: it is a megabyte of script, and most servers call nothing for hours.
export { Agent, buildConnector, fetch, Response } from "undici";
