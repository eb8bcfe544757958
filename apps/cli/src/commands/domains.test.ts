import { describe, expect, test } from "vitest";
import { type Answers, Refusal, ranWith } from "../answers.fixture.ts";

type Sent = Readonly<Record<string, unknown>>;

/** An application that keeps what is sent, a compose application and a service. */
function objects(): { readonly sent: Sent[]; readonly answers: Answers } {
  const sent: Sent[] = [];
  const base = {
    environment_name: "production",
    urls: ["http://a.example:8080"],
    docker_compose_domains: null,
    fqdn: null,
  };
  const containers = { web: { domain: "https://a.example:3000,https://b.example", redirect: "www" } };
  const applications: Record<string, unknown>[] = [
    { ...base, uuid: "plain", name: "site", build_pack: "nixpacks", fqdn: "https://a.example" },
    { ...base, uuid: "none", name: "bare", build_pack: "nixpacks" },
    {
      ...base,
      uuid: "stack",
      name: "shop",
      build_pack: "dockercompose",
      docker_compose_domains: JSON.stringify(containers),
    },
    { ...base, uuid: "empty", name: "fresh", build_pack: "dockercompose" },
  ];
  const service = {
    uuid: "blog",
    name: "blog",
    applications: [{ name: "wordpress", fqdn: "http://blog.example", urls: ["http://blog.example:8080"] }],
  };
  return {
    sent,
    answers: {
      "applications.list": () => applications,
      "services.list": () => [service],
      "databases.list": () => [],
      "applications.update": (input) => {
        sent.push(input);
        const { uuid, domains, docker_compose_domains: items } = input as Record<string, string>;
        if (domains?.includes("ftp:")) throw new Refusal("Invalid URL: ftp://x", "request.invalid");
        const changed = applications.find((one) => one.uuid === uuid) ?? {};
        if (domains !== undefined) changed.fqdn = domains;
        if (!Array.isArray(items)) return { uuid };
        const known = items.filter(({ name }) => name !== "typo");
        changed.docker_compose_domains = JSON.stringify(
          Object.fromEntries(known.map(({ name, ...rest }) => [name, rest])),
        );
        return { uuid, ...(known.length < items.length ? { message: "The compose file has no service typo" } : {}) };
      },
      "services.update": (input) => {
        sent.push(input);
        return { uuid: "blog", domains: [] };
      },
    },
  };
}

async function after(...argv: readonly string[]) {
  const { sent, answers } = objects();
  const { exitCode, stdout, stderr } = await ranWith(answers, ["domains", ...argv]);
  return { exitCode, stdout, stderr, sent: sent[0] };
}
const WEB_URLS = "https://a.example:3000,https://b.example";
const OPTIONS = { force_domain_override: false };
const ofWeb = (domain: string) => ({ docker_compose_domains: [{ name: "web", domain, redirect: "www" }] });

describe("berth domains", () => {
  test.each<[string, readonly string[], Sent]>([
    ["adds one", ["add", "site", "http://b.example"], { domains: "https://a.example,http://b.example" }],
    ["adds none twice", ["add", "site", "https://A.example/"], { domains: "https://a.example" }],
    ["adds none twice, as it was shown", ["add", "site", "http://a.example:8080"], { domains: "https://a.example" }],
    ["adds none twice, without its port", ["add", "shop", "web=http://a.example"], ofWeb(WEB_URLS)],
    ["adds the first one", ["add", "bare", "b.example"], { domains: "b.example" }],
    [
      "replaces all",
      ["set", "site", "http://b.example", "http://c.example"],
      { domains: "http://b.example,http://c.example" },
    ],
    ["removes the last one, as it was shown", ["remove", "site", "http://a.example:8080"], { domains: "" }],
    [
      "removes one of several, named with --app",
      ["rm", "--app", "shop", "web=https://b.example"],
      ofWeb("https://a.example:3000"),
    ],
    [
      "adds one to a container and keeps those of the others",
      ["add", "shop", "api=https://c.example:4000"],
      {
        docker_compose_domains: [
          ...ofWeb(WEB_URLS).docker_compose_domains,
          { name: "api", domain: "https://c.example:4000" },
        ],
      },
    ],
    ["replaces those of a container", ["set", "shop", "web=https://c.example"], ofWeb("https://c.example")],
    ["takes all from a container", ["set", "shop", "web="], ofWeb("")],
    [
      "changes a service",
      ["add", "blog", "wordpress=http://c.example", "mail=http://d.example"],
      {
        urls: [
          { name: "wordpress", url: "http://blog.example,http://c.example" },
          { name: "mail", url: "http://d.example" },
        ],
      },
    ],
  ])("%s", async (_what, argv, sent) => {
    const { uuid: _uuid, ...rest } = (await after(...argv)).sent ?? {};
    expect(rest).toEqual({ ...sent, ...OPTIONS });
  });

  test("takes URLs over with --force", async () => {
    expect((await after("set", "site", "http://b.example", "--force")).sent).toMatchObject({
      force_domain_override: true,
    });
  });

  test.each([
    [["shop"], /^CONTAINER +URL +PORT\nweb +http:\/\/a\.example:8080 +3000\nweb +https:\/\/b\.example +-\n$/],
    [["list", "site"], /^http:\/\/a\.example:8080\n$/],
    [["blog"], /wordpress +http:\/\/blog\.example:8080/],
    [["fresh"], /berth domains add fresh web=https:\/\/example\.com:3000/],
    [["bare"], /berth domains add bare https:\/\/example\.com\n$/],
    [["add", "bare", "http://b.example"], /^http:\/\/b\.example\n.* without a deployment\.\n$/],
  ])("shows those of %j", async (argv, shown) => {
    const { exitCode, stdout } = await after(...argv);
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(shown)]);
  });

  test.each([
    [["add", "shop", "https://c.example"], 2, "Say which one https://c.example belongs to: web=https://c.example"],
    [["add", "shop", "web=https://a.example:4000"], 2, "To change the port: berth domains set, with all its URLs"],
    [["add", "site", "web=https://c.example"], 2, "Write: https://c.example"],
    [["remove", "site", "https://c.example"], 2, "It has http://a.example:8080."],
    [["add", "shop", "typo=https://c.example"], 1, "The compose file has no service typo"],
    [["add", "site", "ftp://x"], 1, "Invalid URL: ftp://x"],
    [["add", "shp", "web=https://c.example"], 2, "Did you mean shop?"],
  ])("refuses %j", async (argv, code, message) => {
    const { exitCode, stderr } = await after(...argv);
    expect([exitCode, stderr]).toEqual([code, expect.stringContaining(message)]);
  });
});
