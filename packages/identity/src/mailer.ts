import type { Mail } from "@berth/core/ports";
import { createTransport } from "nodemailer";

export interface MailServer {
  /** `smtp://` or `smtps://`, with user and password if it asks for them. */
  readonly url: string;
  /** Address of the sender. */
  readonly from: string;
}

const SECONDS_MAX = 30;

/** Texts come from users: nothing in them is read as a file or fetched. */
export function smtp({ url, from }: MailServer): (mail: Mail) => Promise<void> {
  const timeouts = { connectionTimeout: SECONDS_MAX * 1000, greetingTimeout: SECONDS_MAX * 1000 };
  const transport = createTransport({
    ...{ url, pool: true, maxConnections: 2, socketTimeout: SECONDS_MAX * 1000, ...timeouts },
    ...{ disableFileAccess: true, disableUrlAccess: true },
  });
  return async ({ to, subject, text }) =>
    void (await transport.sendMail({ from, to: { name: "", address: to }, subject, text }));
}
