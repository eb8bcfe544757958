import { describe, expect, test } from "vitest";
import { ApplicationSettings } from "./application.ts";
import { ApplicationUpdate } from "./application-input.ts";
import { lastingContainerName } from "./container-name.ts";

const application = (settings: Partial<ApplicationSettings>) => ({
  uuid: "app1",
  settings: { ...ApplicationSettings.parse({ build_pack: "dockerfile" }), ...settings },
});
const ON = { is_consistent_container_name_enabled: true };

describe("the lasting name of a container", () => {
  test.each([
    ["none without the switch", { custom_internal_name: "shop" }, 0, undefined],
    ["the chosen one", { ...ON, custom_internal_name: "shop" }, 0, "shop"],
    ["the uuid where none was chosen", ON, 0, "app1"],
    ["none for a preview, which runs beside the application", ON, 7, undefined],
    ["none for a compose file, which names its own", { ...ON, build_pack: "dockercompose" as const }, 0, undefined],
  ])("is %s", (_title, settings, pullRequestId, expected) => {
    expect(lastingContainerName(application(settings), pullRequestId)).toBe(expected);
  });
});

describe("what may be chosen as a name", () => {
  const read = (custom_internal_name: unknown) => ApplicationUpdate.safeParse({ custom_internal_name });

  test.each(["shop", "a1", "Shop_2.web-x", "a".repeat(63)])("%j", (name) => {
    expect(read(name).data?.custom_internal_name).toBe(name);
  });

  test("nothing, which is the default", () => {
    expect(read(null).data?.custom_internal_name).toBeNull();
    expect(read("").data?.custom_internal_name).toBeNull();
  });

  test.each(["a", "-shop", ".shop", "_shop", "my shop", "shop/web", "schön", "a\nb", "a".repeat(64)])(
    "not %j",
    (name) => {
      expect(read(name).success).toBe(false);
    },
  );
});
