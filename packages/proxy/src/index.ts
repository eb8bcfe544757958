export { type EmbeddedProxy, type EmbeddedProxyOptions, embeddedProxy } from "./embedded.ts";
export { behindFrontDoor, type FrontDoor, frontDoor, guestsOf } from "./front-door.ts";
export type { ProxyStatus } from "./protocol.ts";
export { type RecordedProxy, recordedProxy } from "./server/recorded-proxy.ts";
export type { ProxySettings, TlsSettings } from "./server/routed-site.ts";
export { serverProxy } from "./server/server-proxy.ts";
export type { ServerProxyOptions } from "./server/settings.ts";
