export { type NotificationSenderOptions, notificationSender } from "./sender.ts";
