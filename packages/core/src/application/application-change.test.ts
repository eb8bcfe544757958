import { describe, expect, test } from "vitest";
import { ApplicationSettings } from "./application.ts";
import { applicationChange, basicAuthProblems, resetsOf } from "./application-change.ts";
import { ApplicationCreatePublic, ApplicationUpdate } from "./application-input.ts";
import { generatedName } from "./application-name.ts";

const change = (sent: ApplicationUpdate) => applicationChange(ApplicationUpdate.parse(sent));
const image = (docker_registry_image_name: string, docker_registry_image_tag: string) =>
  ApplicationSettings.parse({ build_pack: "dockerimage", docker_registry_image_name, docker_registry_image_tag });
const base64 = (text: string) => btoa(text);

describe("a change of an application", () => {
  test("holds the settings that were sent, and no others", () => {
    expect(change({ name: "x", build_command: "make", is_spa: true, http_basic_auth_password: "p" })).toEqual({
      settings: { build_command: "make", is_spa: true },
      secrets: { http_basic_auth_password: "p" },
      problems: {},
    });
  });

  test("keeps whether its logs are meant for a log drain, which clients of the family send and read again", () => {
    const read = (value: unknown) => ApplicationUpdate.parse({ is_log_drain_enabled: value });
    expect(change(read("0")).settings).toEqual({ is_log_drain_enabled: false });
    expect(change(read(true)).settings).toEqual({ is_log_drain_enabled: true });
  });

  test("gives a setting its default for null and for an empty text", () => {
    const sent = { ports_exposes: "", base_directory: null, health_check_interval: null, install_command: "" };
    expect(change(sent).settings).toEqual({
      ports_exposes: null,
      base_directory: "/",
      health_check_interval: 5,
      install_command: null,
    });
  });

  test("drops blanks around a text, but not those of whole files and secrets", () => {
    const sent = {
      git_branch: " main\t",
      install_command: "  ",
      publish_directory: " /dist ",
      watch_paths: "src/**\n",
    };
    const files = { custom_nginx_configuration: " a;\n" };
    const hidden = { dockerfile: "FROM a\n", custom_labels: " a=b\n", http_basic_auth_password: " p " };
    const { settings, secrets, problems } = change({ ...sent, ...files, ...hidden });
    expect(settings).toEqual({
      git_branch: "main",
      install_command: null,
      publish_directory: "/dist",
      watch_paths: "src/**",
      ...files,
    });
    expect([secrets, problems]).toEqual([hidden, {}]);
  });

  test("decodes base64 and takes plain text", () => {
    const sent = { dockerfile: base64("FROM a"), custom_labels: "a=b\nc=d", custom_nginx_configuration: base64("x") };
    expect(change(sent)).toMatchObject({
      settings: { custom_nginx_configuration: "x" },
      secrets: { dockerfile: "FROM a", custom_labels: "a=b\nc=d" },
    });
    expect(change({ dockerfile: btoa("\xff\xff\xff") }).problems).toHaveProperty("dockerfile");
    expect(change({ dockerfile: btoa("a\0b") }).problems).toHaveProperty("dockerfile");
  });

  test("takes numbers as text, which old clients send", () => {
    // Parsed from JSON, since TypeScript would not allow these types.
    const sent = JSON.parse('{"health_check_port":"8080","health_check_retries":"3","limits_cpu_shares":512}');
    expect(change(sent).settings).toEqual({ health_check_port: 8080, health_check_retries: 3, limits_cpu_shares: 512 });
  });

  test.each<[ApplicationUpdate, string | null, string | null]>([
    [{ docker_registry_image_name: "caddy" }, "caddy", "1.27"],
    [{ docker_registry_image_name: "caddy:2" }, "caddy", "2"],
    [{ docker_registry_image_name: "caddy", docker_registry_image_tag: "2" }, "caddy", "2"],
    [{ docker_registry_image_name: "caddy", docker_registry_image_tag: null }, "caddy", "latest"],
    [{ docker_registry_image_tag: "1.28" }, "nginx", "1.28"],
    [{ docker_registry_image_tag: "" }, "nginx", "latest"],
    [{ docker_registry_image_tag: "a".repeat(64) }, "nginx@sha256", "a".repeat(64)],
  ])("of an image nginx:1.27 by %j makes it %s:%s", (sent, name, tag) => {
    const { settings, problems } = applicationChange(ApplicationUpdate.parse(sent), image("nginx", "1.27"));
    expect([settings.docker_registry_image_name, settings.docker_registry_image_tag]).toEqual([name, tag]);
    expect(problems).toEqual({});
  });

  test("of an image named by its digest to a tag leaves the digest behind", () => {
    const sent = { docker_registry_image_tag: "1.28" };
    expect(applicationChange(sent, image("nginx@sha256", "b".repeat(64))).settings).toEqual({
      docker_registry_image_name: "nginx",
      docker_registry_image_tag: "1.28",
    });
  });

  test("of an image needs a name, which what is built from source does not", () => {
    const sent = { docker_registry_image_name: null };
    expect(applicationChange(sent, image("nginx", "1")).problems).toHaveProperty("docker_registry_image_name");
    expect(applicationChange(sent)).toMatchObject({ settings: sent, problems: {} });
    expect(applicationChange({ docker_registry_image_name: "ghcr.io/me/built" }).settings).toEqual({
      docker_registry_image_name: "ghcr.io/me/built",
      docker_registry_image_tag: null,
    });
  });

  test("tidies network aliases", () => {
    expect(change({ custom_network_aliases: "a, b c,,a" }).settings.custom_network_aliases).toBe("a,b-c");
  });

  test.each<[ApplicationUpdate, string]>([
    [{ git_repository: "http://a b" }, "git_repository"],
    [{ git_repository: "--upload-pack=x" }, "git_repository"],
    [{ git_repository: "https://user:secret@git.example/x" }, "git_repository"],
    [{ git_repository: "https://token@git.example/x" }, "git_repository"],
    [{ git_branch: "a..b" }, "git_branch"],
    [{ git_branch: "-x" }, "git_branch"],
    [{ docker_registry_image_name: "Not An Image" }, "docker_registry_image_name"],
    [{ docker_registry_image_name: "nginx:1", docker_registry_image_tag: "2" }, "docker_registry_image_tag"],
    [{ preview_url_template: "{{domain}}" }, "preview_url_template"],
    [{ ports_exposes: "0" }, "ports_exposes"],
    [{ ports_exposes: "80,70000" }, "ports_exposes"],
    [{ ports_mappings: "80:80,80:81" }, "ports_mappings"],
    [{ ports_mappings: "99999:80" }, "ports_mappings"],
    [{ limits_memory: "lots" }, "limits_memory"],
    [{ build_pack: "dockercompose", domains: "http://a.example" }, "domains"],
    [
      { build_pack: "dockercompose", docker_compose_custom_build_command: "make" },
      "docker_compose_custom_build_command",
    ],
    [
      { build_pack: "dockercompose", docker_compose_custom_start_command: "docker compose up && id" },
      "docker_compose_custom_start_command",
    ],
    [
      {
        build_pack: "dockercompose",
        docker_compose_custom_build_command: "docker compose -f docker-compose.yaml -f a.yaml build",
        docker_compose_custom_start_command: "docker compose -f docker-compose.yaml -f b.yaml up",
      },
      "docker_compose_custom_start_command",
    ],
  ])("is refused for %j by its field", (sent, field) => {
    expect(Object.keys(change(sent).problems)).toEqual([field]);
  });

  test("away from a Dockerfile or a compose file forgets what belonged to it", () => {
    expect(resetsOf("dockerfile", "static")).toEqual({
      settings: { dockerfile_location: null, dockerfile_target_build: null },
      secrets: { dockerfile: null },
    });
    expect(resetsOf("dockercompose", "nixpacks")).toEqual({
      settings: { docker_compose_domains: null },
      secrets: { docker_compose_raw: null },
    });
    const nothing = { settings: {}, secrets: {} };
    expect([resetsOf("static", "nixpacks"), resetsOf("dockerfile", "dockerfile")]).toEqual([nothing, nothing]);
  });

  test("to basic authentication needs a name and a password, sent or stored", () => {
    const on = { is_http_basic_auth_enabled: true, http_basic_auth_username: null };
    expect(Object.keys(basicAuthProblems(on, { http_basic_auth_password: null }))).toEqual([
      "http_basic_auth_username",
      "http_basic_auth_password",
    ]);
    expect(basicAuthProblems({ ...on, http_basic_auth_username: "u" }, { http_basic_auth_password: "p" })).toEqual({});
    expect(basicAuthProblems({ ...on, is_http_basic_auth_enabled: false }, { http_basic_auth_password: null })).toEqual(
      {},
    );
  });
});

describe("a creation", () => {
  const minimal = { project_uuid: "p", server_uuid: "s", git_repository: "https://x/y", git_branch: "main" };

  test("[S09] knows every build pack but images, which have an operation of their own", () => {
    for (const build_pack of ["nixpacks", "railpack", "static", "dockerfile", "dockercompose"]) {
      expect(ApplicationCreatePublic.safeParse({ ...minimal, build_pack }).success).toBe(true);
    }
    expect(ApplicationCreatePublic.safeParse({ ...minimal, build_pack: "dockerimage" }).success).toBe(false);
    expect(ApplicationSettings.safeParse({ build_pack: "dockerimage" }).success).toBe(true);
  });

  test("refuses what it does not know", () => {
    const { error } = ApplicationCreatePublic.safeParse({ ...minimal, build_pack: "static", fqdn: "http://x" });
    expect(error?.issues).toMatchObject([{ code: "unrecognized_keys", keys: ["fqdn"] }]);
  });

  test.each([
    ["git", "https://github.com/owner/My.App.git", "main", "my-app-main-abcdefgh"],
    ["git", "git@host:owner/app", "feature/x", "app-feature-x-abcdefgh"],
    ["git", "https://host/日本", "日", "application-abcdefgh"],
    ["upload", "", "", "upload-abcdefgh"],
    ["dockerfile", "", "", "dockerfile-abcdefgh"],
  ] as const)("from %s %s names it %s %s", (source, git_repository, git_branch, expected) => {
    expect(generatedName(source, { uuid: "abcdefghijkl", git_repository, git_branch })).toBe(expected);
  });
});

test("URLs of containers are for compose files alone, since nobody else claims them", () => {
  const docker_compose_domains = [{ name: "web", domain: "https://a.example" }];
  const problems = { docker_compose_domains: [expect.stringContaining("Only for the build pack dockercompose.")] };
  expect(applicationChange({ docker_compose_domains }).problems).toEqual(problems);
  expect(applicationChange({ docker_compose_domains: [] }).problems).toEqual({});
  expect(applicationChange({ docker_compose_domains, build_pack: "dockercompose" }).problems).toEqual({});
});
