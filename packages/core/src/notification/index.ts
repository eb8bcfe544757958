export * from "./channel.ts";
export * from "./channel-rule.ts";
export * from "./delivery.ts";
export * from "./delivery-result.ts";
export * from "./message.ts";
export * from "./notification.ts";
