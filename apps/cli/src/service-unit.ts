import { join } from "node:path";

export interface UnitOptions {
  /** Folder of Berth's program files. */
  readonly folder: string;
  /** Absolute path of Node.js, 18 or newer. */
  readonly node: string;
  /** PATH of the programs that it calls. */
  readonly path: string;
  readonly user: string;
  /** Settings that differ from the defaults, such as `BERTH_DATA`. */
  readonly settings: Readonly<Record<string, string>>;
}

/** The systemd unit that runs Berth. @throws TypeError for a text that a unit cannot contain. */
export function serviceUnit({ folder, node, path, user, settings }: UnitOptions): string {
  const environment = Object.entries({ PATH: path, ...settings }).map(
    ([key, value]) => `Environment=${word(`${key}=${value}`)}`,
  );
  return `${[
    "[Unit]",
    "Description=Berth",
    "After=network-online.target",
    "Wants=network-online.target",
    "",
    "[Service]",
    `User=${plain(user)}`,
    `WorkingDirectory=${plain(folder)}`,
    ...environment,
    "# What npm start runs; npm itself would not pass the signal on that ends it.",
    `ExecStart=${argument(node)} ${argument(join(folder, "tooling/run.mjs"))} start`,
    "# Applications, the proxy and the database continue while Berth is started again.",
    "KillMode=process",
    "Restart=on-failure",
    "RestartSec=5",
    "TimeoutStopSec=60",
    "LimitNOFILE=65536",
    "",
    "[Install]",
    "WantedBy=multi-user.target",
  ].join("\n")}\n`;
}

/** A value that systemd takes as it is, from `=` to the line end, except for `%`. */
function plain(text: string): string {
  if (/[\0\n\r]/.test(text)) throw new TypeError(`A unit cannot contain a line end: ${JSON.stringify(text)}`);
  return text.replaceAll("%", "%%");
}

/** One of the words of a value. */
function word(text: string): string {
  const escaped = plain(text).replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  return /^[\w./:@=+%$-]+$/.test(escaped) ? escaped : `"${escaped}"`;
}

/** A word of a command, in which systemd would replace variables too. */
const argument = (text: string): string => word(text.replaceAll("$", "$$$$"));
