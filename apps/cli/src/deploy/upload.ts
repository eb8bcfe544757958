import { createLogUpdate } from "log-update";
import type { Api } from "../connection/api.ts";
import { restText } from "../connection/rest.ts";
import { EXIT, Failure } from "../failure.ts";
import { bytes, plural } from "../format.ts";
import { archive, assertUploadable, tarBytes } from "../pack/archive.ts";
import { type Content, walk } from "../pack/walk.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";

/** Checks the upload before anything is created. */
export async function pack({ output }: Session, folder: string): Promise<Content> {
  const content = await walk(folder);
  for (const reason of content.leftOut) output.warn(`left out ${printable(reason)}`);
  if (content.variableFiles.length > 0) output.warn(variableFilesText(content.variableFiles));
  assertUploadable(content);
  return content;
}

const variableFilesText = (paths: readonly string[]): string =>
  `uploads ${paths.map(printable).join(", ")}, which may hold secrets. Leave it out by a line in .gitignore or .berthignore, or keep it without this warning by a line with ! in .berthignore. Variables are set with --env-file.`;

/** @throws Failure 130 on Ctrl-C, an error of the API, or a file that cannot be read */
export async function upload(
  api: Api,
  session: Session,
  uuid: string,
  folder: string,
  content: Content,
): Promise<void> {
  const { output, system } = session;
  const files = content.entries.filter(({ stats }) => !stats.isDirectory()).length;
  const what = `${plural(files, "file", "files")}, ${bytes(content.sizeBytes)}`;
  const interruption = new AbortController();
  const release = system.onInterrupt(() => interruption.abort());
  const progress = output.isLive ? createLogUpdate(system.stdout) : undefined;
  const total = tarBytes(content);
  let shownPercent = -1;
  const body = archive(folder, content, {
    onBytes: (count) => {
      const percent = Math.min(100, Math.floor((count / total) * 100));
      if (percent > shownPercent) progress?.(`Uploading ${what}  ${percent} %`);
      shownPercent = percent;
    },
  });
  let packingProblem: unknown;
  body.once("error", (problem) => {
    packingProblem = problem;
  });
  try {
    await restText(api.connection, {
      method: "PUT",
      path: `/applications/${encodeURIComponent(uuid)}/source`,
      body,
      contentType: "application/gzip",
      signal: interruption.signal,
    });
  } catch (error) {
    if (interruption.signal.aborted) throw new Failure("Nothing was deployed.", { exitCode: EXIT.interrupted });
    // The request also fails when the folder cannot be read; that is the reason to report.
    throw packingProblem instanceof Failure ? packingProblem : error;
  } finally {
    release();
    body.destroy();
    progress?.clear();
    progress?.done();
  }
  output.line(`Uploaded ${what}`);
}
