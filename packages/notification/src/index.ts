export { type LogDrainSenderOptions, logDrainSender } from "./log-drain.ts";
export { type NotificationSenderOptions, notificationSender } from "./sender.ts";
