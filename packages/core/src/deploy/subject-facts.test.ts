import { expect, test } from "vitest";
import { ApplicationSecrets, ApplicationSettings } from "../application/application.ts";
import type { ApplicationRecord } from "../ports/records.ts";
import { deployedKind } from "./deployed-kind.ts";
import type { DeploySubject } from "./subject.ts";
import { isExclusiveOn, subjectFacts } from "./subject-facts.ts";

const application = (settings: object): DeploySubject => ({
  kind: "application",
  record: {
    uuid: "a",
    name: "shop",
    restart_count: 2,
    scale_problem: null,
    settings: ApplicationSettings.parse({ build_pack: "nixpacks", ...settings }),
  } as ApplicationRecord,
  secrets: ApplicationSecrets.parse({ http_basic_auth_password: "secret" }),
});

const upstream = { host: "127.0.0.1", port: 3000 };

test.each([
  ["one whose port is mapped", { ports_exposes: "3000", ports_mappings: "8080:3000" }],
  ["one with a port", { ports_exposes: "3000" }],
  ["one with another port", { ports_exposes: "4000" }],
  ["a compose file", { build_pack: "dockercompose" }],
])("facts say of %s on which engines it is exclusive", (_title, settings) => {
  const subject = application(settings);
  for (const networks of [true, false]) {
    for (const port_mappings of [true, false]) {
      for (const live of [null, upstream]) {
        const sharing = { networks, port_mappings };
        const reason = deployedKind(subject).exclusiveReason(subject, sharing, live);
        expect(isExclusiveOn(subjectFacts(subject, live), sharing)).toBe(reason !== undefined);
      }
    }
  }
});

test("facts contain of settings and secrets only those of its site", () => {
  const subject = application({ redirect: "www", install_command: "npm ci" });
  const { site, restartCount } = subjectFacts(subject, null);
  const whole = deployedKind(subject).site(subject);
  expect(whole).toMatchObject({ ...site });
  expect(site?.secrets.http_basic_auth_password).toBe("secret");
  expect(restartCount).toBe(2);
  expect(JSON.stringify(subjectFacts(subject, null))).not.toContain("npm ci");
});
