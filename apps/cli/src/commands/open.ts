import type { Command } from "commander";
import type { Bind } from "../command-module.ts";
import { Failure } from "../failure.ts";
import { printable } from "../printable.ts";
import type { Session } from "../session.ts";
import { targetApplication } from "../target.ts";
import { urlRemedy } from "../url-remedy.ts";

export function define(command: Command, bind: Bind): void {
  command
    .argument("[app]", "name or uuid; default: the application of this folder")
    .option("--print", "print the URL, open nothing")
    .action(bind(openInBrowser));
}

async function openInBrowser(
  session: Session,
  wanted: string | undefined,
  { print }: { readonly print?: boolean },
): Promise<void> {
  const { output, system } = session;
  const api = await session.connect();
  const application = await targetApplication(api, system, wanted);
  const [url] = application.urls;
  // The URL comes from the server and is passed to a local program, so only web addresses are allowed.
  if (url === undefined || !/^https?:$/.test(URL.parse(url)?.protocol ?? "")) {
    throw new Failure(`${printable(application.name)} has no URL.`, {
      details: [urlRemedy(application.name, application.build_pack === "dockercompose")],
    });
  }
  output.show(application, () => output.line(printable(url)));
  if (application.url_problem !== null) output.warn(printable(application.url_problem));
  if (print) return;
  const { default: open } = await import("open");
  const browser = await open(url);
  browser.on("error", () => output.warn("No browser could be started. Open the URL yourself."));
}
