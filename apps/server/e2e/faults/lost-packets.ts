import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { NotSupported } from "./machine.ts";

const MAIN = fileURLToPath(new URL("./lost-packets-main.ts", import.meta.url));
/** Exit code of the program where the machine cannot lose packets. It prints why. */
export const CANNOT_LOSE = 3;

/** In a network of its own, whose loopback loses packets: nobody else on the machine notices. */
export async function losePackets(): Promise<string> {
  const child = spawn("unshare", ["--net", process.execPath, MAIN], { stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "close").catch(() => [undefined]);
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  if (code === 0) return output.trim();
  if (code === CANNOT_LOSE) throw new NotSupported(output.trim());
  const isMade = code !== undefined && !errors.includes("unshare failed");
  if (!isMade) throw new NotSupported("only root may make a network of its own, with `unshare` of util-linux");
  throw new Error(errors.trim().split("\n").at(-1));
}
