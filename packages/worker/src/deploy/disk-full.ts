import { isDomainError } from "@berth/core";
import type { StepName } from "@berth/core/deploy";
import type { DiskSpace } from "@berth/core/ports";

/**
 * Message for a step that failed because of a full disk; `undefined` for other failures.
 * @param disk Usage of the server's application folder; read only when needed.
 */
export async function fullDiskMessage(
  cause: unknown,
  step: StepName,
  disk: () => Promise<DiskSpace | undefined>,
): Promise<string | undefined> {
  const chain = causesOf(cause);
  if (!chain.some(isAboutFullDisk)) return undefined;
  const space = await disk().catch(() => undefined);
  const path = chain.map(({ path: one }) => one).find((one) => typeof one === "string");
  const folder = path ?? space?.folder;
  const place = folder === undefined ? "The server's disk" : `The disk of ${folder}`;
  const free = space === undefined ? "" : ` (${Math.floor(space.freeBytes / 1e6)} MB free)`;
  const sentence = `${place} is full${free}: the step ${step} could not write. Free space on it, then deploy again.`;
  // The program's own message names the disk.
  return isDomainError(cause) ? `${cause.message} ${sentence}` : sentence;
}

interface Cause {
  readonly message?: unknown;
  readonly code?: unknown;
  readonly path?: unknown;
  readonly cause?: unknown;
}

const isAboutFullDisk = ({ code, message }: Cause): boolean =>
  (typeof code === "string" && FULL_CODES.has(code)) || (typeof message === "string" && FULL_TEXT.test(message));

const FULL_CODES: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT"]);
/** Messages of programs, and of the build's own hint. */
const FULL_TEXT = /\bENOSPC\b|No space left on device|Disk quota exceeded|disk is full/;

function causesOf(cause: unknown): readonly Cause[] {
  const chain: Cause[] = [];
  for (let one = cause; typeof one === "object" && one !== null && chain.length < CAUSES_MAX; one = chain.at(-1)?.cause)
    chain.push(one as Cause); // A cause may be anything, so its fields are `unknown`.
  return chain;
}

const CAUSES_MAX = 10;
