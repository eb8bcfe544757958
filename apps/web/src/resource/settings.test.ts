import { ApplicationUpdate } from "@berth/core/application";
import { expect, it } from "vitest";
import type { ShownResource } from "./resource.ts";
import { placeholdersOf, settingsOf } from "./settings.ts";

it("shows the port that gets requests where no port is set", () => {
  expect(placeholdersOf([{ port: null }, { port: 3000 }])).toEqual({
    ports_exposes: "3000, found by the last deployment",
  });
});

it("shows no port where none gets requests, or nothing runs", () => {
  expect(placeholdersOf([{ port: null }])).toEqual({});
  expect(placeholdersOf([])).toEqual({});
});

it("offers every setting of an application, but for those of other tabs", () => {
  const shown = { settings: {}, dockerfile: null, custom_labels: null };
  const { groups } = settingsOf({ application: shown } as unknown as ShownResource);
  const offered = new Set(groups.flatMap(({ fields }) => fields));
  const ofDomains = [
    ...["domains", "redirect", "noindex_domains"],
    ...["is_force_https_enabled", "is_stripprefix_enabled", "is_gzip_enabled"],
  ];
  const elsewhere = new Set([
    ...[...ofDomains, "force_domain_override", "docker_compose_domains"],
    "instant_deploy", // A button.
    ...["docker_compose_raw", "is_preserve_repository_enabled"], // Kept for clients, without effect.
  ]);
  expect(Object.keys(ApplicationUpdate.shape).filter((name) => !offered.has(name) && !elsewhere.has(name))).toEqual([]);
  expect([...offered].filter((name) => !(name in ApplicationUpdate.shape))).toEqual([]);
});

it("has no field for a text that is hidden", () => {
  const { groups } = settingsOf({ application: { settings: {} } } as unknown as ShownResource);
  const offered = groups.flatMap(({ fields }) => fields);
  expect(offered.filter((name) => name === "dockerfile" || name === "custom_labels")).toEqual([]);
});

it("asks for the nodes of an application only where a cluster runs it", () => {
  const isAsked = (destination_type: string) => {
    const application = { settings: {}, destination_type };
    // Only the fields that are read.
    const { groups, values } = settingsOf({ application } as unknown as ShownResource);
    return groups.some(
      ({ when, fields }) => fields.includes("swarm_placement_constraints") && when?.(values) !== false,
    );
  };
  expect([isAsked("swarm"), isAsked("standalone")]).toEqual([true, false]);
});
