import { expect, test } from "vitest";
import { applicationCommands, effectLines } from "./variable-effect.ts";

const BOTH = { is_buildtime: true, is_runtime: true };
const RUN = { is_buildtime: false, is_runtime: true };
const BUILD = { is_buildtime: true, is_runtime: false };
const restart = (app = "shop") => `It takes effect with the next deployment: berth restart ${app}`;
const deploy = (argv: string) => `It takes effect with the next deployment: berth deploy${argv}`;
const enough = (app = " shop") => `Where only the running program reads it, this is enough: berth restart${app}`;

test.each([
  ["upload", "shop", [BOTH], [deploy(" FOLDER --app shop"), enough()]],
  ["upload", undefined, [BOTH], [deploy(""), enough("")]],
  ["git", "shop", [BOTH], [deploy(" --app shop"), enough()]],
  ["dockerfile", "shop", [RUN, BOTH], [deploy(" --app shop"), enough()]],
  ["git", "shop", [BUILD], [deploy(" --app shop")]],
  ["git", "shop", [BUILD, RUN], [deploy(" --app shop"), enough()]],
  ["upload", "shop", [RUN], [restart()]],
  ["image", "shop", [BOTH], [restart()]],
  // Older servers do not say it.
  ["git", "shop", [{}], [deploy(" --app shop"), enough()]],
] as const)("a variable of an application from %s, named %s, used by %j", (source, named, variables, lines) => {
  expect(effectLines(applicationCommands({ source }, named), variables)).toEqual(lines);
});

test("a restart is enough for what is not built", () => {
  expect(effectLines({ restart: "berth service restart stack" }, [BOTH])).toEqual([
    "It takes effect with the next deployment: berth service restart stack",
  ]);
});
