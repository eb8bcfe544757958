import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { text as textOf } from "node:stream/consumers";
import { SMTPServer } from "smtp-server";

export interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly subject: string;
  readonly text: string;
}

export interface MailServer {
  /** With user and password, if it asks for them. */
  readonly url: string;
  readonly mails: readonly ReceivedMail[];
  close(): Promise<void>;
}

export interface MailServerOptions {
  /** Without an account everybody may send. */
  readonly user?: string;
  readonly password?: string;
  /** `tls` from the beginning, or `starttls`. Default: neither. */
  readonly encryption?: { readonly by: "tls" | "starttls"; readonly certificate: string; readonly key: string };
}

/** A mail server on the loopback. */
export async function mailServer({ user, password, encryption }: MailServerOptions = {}): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    authOptional: user === undefined,
    disabledCommands: encryption === undefined ? ["STARTTLS"] : [],
    secure: encryption?.by === "tls",
    ...(encryption && { cert: encryption.certificate, key: encryption.key }),
    allowInsecureAuth: true,
    onAuth: (login, _session, answer) => {
      const isRight = login.username === user && login.password === password;
      answer(isRight ? null : new Error("Wrong password"), { user: login.username });
    },
    onData: async (stream, { envelope }, answer) => {
      const raw = await textOf(stream);
      const from = envelope.mailFrom === false ? "" : envelope.mailFrom.address;
      mails.push({ from, to: envelope.rcptTo.map(({ address }) => address), ...contentOf(raw) });
      answer();
    },
  });
  // Of clients that break off, such as those that do not trust its certificate.
  server.on("error", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  const { port } = server.server.address() as AddressInfo;
  const login = user === undefined ? "" : `${encodeURIComponent(user)}:${encodeURIComponent(password ?? "")}@`;
  return {
    url: `smtp://${login}127.0.0.1:${port}`,
    mails,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Subject and text of a mail with a single part. */
function contentOf(raw: string): { readonly subject: string; readonly text: string } {
  const end = raw.indexOf("\r\n\r\n");
  const head = raw.slice(0, end).replaceAll(/\r\n[ \t]+/g, " ");
  const body = raw.slice(end + 4).replaceAll("\r\n", "\n");
  const isQuoted = /^content-transfer-encoding: quoted-printable$/im.test(head);
  const decoded = body
    .replaceAll("=\n", "")
    .replaceAll(/=([0-9A-F]{2})/g, (_all, code) => String.fromCharCode(Number.parseInt(code, 16)));
  return { subject: /^subject: (.*)$/im.exec(head)?.[1] ?? "", text: isQuoted ? decoded : body };
}
