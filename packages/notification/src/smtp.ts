import type { Socket } from "node:net";
import type { ChannelSettings } from "@berth/core/notification";
import { guardedSocket, type PrivateHosts } from "@berth/host";
import { createTransport } from "nodemailer";

/** A server that the operator named, or one of a team. */
export type MailServerSettings =
  | { readonly url: string; readonly from: string }
  | {
      readonly settings: ChannelSettings<"email">;
      readonly from: { readonly name: string; readonly address: string };
    };

export interface OutgoingMail {
  /** Of the delivery: a mail that is sent again has the same message id. */
  readonly uuid: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
}

interface MailLimits {
  readonly allowedPrivateHosts: PrivateHosts;
  readonly secondsMax: number;
}

/** Texts come from users: nothing in them is read as a file or fetched. Rejects with the server's words. */
export async function sendMail(server: MailServerSettings, mail: OutgoingMail, limits: MailLimits): Promise<void> {
  const seconds = ("settings" in server && server.settings.smtp_timeout) || limits.secondsMax;
  const ms = seconds * 1000;
  const sockets: Socket[] = [];
  const dial = async (host: string, port: number) => {
    const socket = await guardedSocket({ ...limits, host, port, secondsMax: seconds });
    sockets.push(socket);
    return socket;
  };
  const transport = createTransport({
    ...("url" in server ? { url: server.url } : teamServer(server.settings, dial)),
    ...{ connectionTimeout: ms, greetingTimeout: ms, socketTimeout: ms, dnsTimeout: ms },
    ...{ disableFileAccess: true, disableUrlAccess: true },
  });
  // A server that answers each command late keeps every single limit.
  const late = setTimeout(() => sockets.map((socket) => socket.destroy()), ms * 1.5);
  try {
    const { uuid, to, subject, text } = mail;
    const { from } = server;
    // Recipients need not know of each other.
    const envelopeTo = to.map((address) => ({ name: "", address }));
    await transport.sendMail({ from, to: from, bcc: envelopeTo, subject, text, messageId: `<${uuid}@berth>` });
  } finally {
    clearTimeout(late);
    transport.close();
  }
}

function teamServer(settings: ChannelSettings<"email">, dial: (host: string, port: number) => Promise<Socket>) {
  const { smtp_host, smtp_port, smtp_encryption, smtp_username, smtp_password, smtp_ehlo_domain } = settings;
  const [host, port] = [smtp_host ?? "", smtp_port ?? 587];
  return {
    ...{ host, port },
    secure: smtp_encryption === "tls",
    requireTLS: smtp_encryption === "starttls" || smtp_encryption === null,
    ignoreTLS: smtp_encryption === "none",
    ...(smtp_ehlo_domain !== null && { name: smtp_ehlo_domain }),
    ...(smtp_username !== null && { auth: { user: smtp_username, pass: smtp_password ?? "" } }),
    getSocket(_options: unknown, answer: (error: Error | null, socket?: { connection: unknown }) => void) {
      dial(host, port).then(
        (connection) => answer(null, { connection }),
        (error: Error) => answer(error),
      );
    },
  };
}
