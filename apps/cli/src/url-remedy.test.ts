import { expect, test } from "vitest";
import { urlRemedy } from "./url-remedy.ts";

test.each([
  ["dockercompose", "--docker-compose-domains"],
  ["nixpacks", "--domains"],
] as const)("an application of the build pack %s is given a URL by the flag that it takes", (build_pack, flag) => {
  expect(urlRemedy({ build_pack })).toContain(`berth deploy ${flag} `);
});
