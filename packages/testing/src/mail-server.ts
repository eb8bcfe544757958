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

/** A mail server on the loopback. Without an account everybody may send. */
export async function mailServer(account?: { readonly user: string; readonly password: string }): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const server = new SMTPServer({
    authOptional: account === undefined,
    disabledCommands: ["STARTTLS"],
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, answer) => {
      const isRight = username === account?.user && password === account?.password;
      answer(isRight ? null : new Error("Wrong password"), { user: username });
    },
    onData: async (stream, { envelope }, answer) => {
      const raw = await textOf(stream);
      const from = envelope.mailFrom === false ? "" : envelope.mailFrom.address;
      mails.push({ from, to: envelope.rcptTo.map(({ address }) => address), ...contentOf(raw) });
      answer();
    },
  });
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  const { port } = server.server.address() as AddressInfo;
  const { user, password } = account ?? {};
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
