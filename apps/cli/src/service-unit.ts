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
    ([key, value]) => `Environment=${quoted(`${key}=${value}`)}`,
  );
  return `${[
    "[Unit]",
    "Description=Berth",
    "After=network-online.target",
    "Wants=network-online.target",
    "",
    "[Service]",
    `User=${quoted(user)}`,
    `WorkingDirectory=${quoted(folder)}`,
    ...environment,
    "# What npm start runs; npm itself would not pass the signal on that ends it.",
    `ExecStart=${quoted(node)} ${quoted(join(folder, "tooling/run.mjs"))} start`,
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

/** Quoted for systemd: it would replace `%` and `$`, and end a value at a line end. */
function quoted(text: string): string {
  if (/[\0\n\r]/.test(text)) throw new TypeError(`A unit cannot contain a line end: ${JSON.stringify(text)}`);
  const escaped = text.replaceAll("%", "%%").replaceAll("$", "$$$$").replaceAll("\\", "\\\\").replaceAll('"', '\\"');
  return /^[\w./:@=+%-]+$/.test(escaped) ? escaped : `"${escaped}"`;
}
