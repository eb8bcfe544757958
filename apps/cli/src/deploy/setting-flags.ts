import { ApplicationCreateUpload, ApplicationSecrets } from "@berth/core/application";
import type { Command } from "commander";
import { addFlags, type Flag, flagsFor } from "../flags.ts";

/** Fields with dedicated flags in `berth deploy`, or that do not apply to it. */
const ELSEWHERE = new Set([
  "name",
  "project_uuid",
  "environment_name",
  "environment_uuid",
  "server_uuid",
  "git_repository",
  "git_branch",
  "instant_deploy",
  "type",
  "private_key_uuid",
  "github_app_uuid",
]);

/** Arguments are visible to all users of the machine and stay in the shell's history. */
const SECRETS = new Set(Object.keys(ApplicationSecrets.shape));

/** Flags for all settings that the API accepts when an application is created. */
export const SETTING_FLAGS: readonly Flag[] = flagsFor(ApplicationCreateUpload).filter(
  ({ key }) => !ELSEWHERE.has(key) && !SECRETS.has(key),
);

const GROUPS: readonly (readonly [heading: string, pattern: RegExp])[] = [
  [
    "Building:",
    /^(build_pack|base_directory|publish_directory|(install|build|start)_command|is_static|is_spa|static_image|git_commit_sha)$/,
  ],
  [
    "Addresses:",
    /^(domains|redirect|ports_exposes|ports_mappings|autogenerate_domain|force_domain_override|is_force_https_enabled|is_http_basic_auth_enabled|http_basic_auth_username)$/,
  ],
  ["Health check:", /^health_check_/],
  ["Limits:", /^(limits_|stop_grace_period|max_restart_count)/],
  ["Docker:", /^(docker|custom_|is_container_label|connect_to_docker)/],
  ["More settings:", /^/],
];

export function addSettingFlags(command: Command): void {
  const left = new Set(SETTING_FLAGS);
  for (const [heading, pattern] of GROUPS) {
    const flags = [...left].filter(({ key }) => pattern.test(key));
    for (const flag of flags) left.delete(flag);
    addFlags(command, flags, heading);
  }
}
