import { describe, expect, test } from "vitest";
import { ServerUpdate, serverSettingsChange } from "./server-input.ts";
import { ServerSettings } from "./server-settings.ts";

describe("a change of a server", () => {
  test("[S21] sets the queue limit, which is 25 by default", () => {
    expect(ServerSettings.parse({}).deployment_queue_limit).toBe(25);
    const sent = ServerUpdate.parse({ deployment_queue_limit: "7", name: "x", concurrent_builds: null });
    expect(serverSettingsChange(sent)).toEqual({ deployment_queue_limit: 7 });
  });

  test.each([
    [{ deployment_queue_limit: 0 }],
    [{ concurrent_builds: 1.5 }],
    [{ server_disk_usage_notification_threshold: 101 }],
    [{ server_disk_usage_check_frequency: "sometimes" }],
    [{ proxy_type: "apache" }],
    [{ wildcard_domain: "apps.example" }],
    [{ wildcard_domain: "javascript:alert(1)" }],
    [{ port: 0 }],
    [{ ip: "-oProxyCommand=x" }],
    [{ ip: "a b" }],
    [{ user: "root;id" }],
    [{ settings: {} }],
  ])("refuses %j", (sent) => {
    expect(ServerUpdate.safeParse(sent).success).toBe(false);
  });

  test.each([
    [{ proxy_type: "CADDY" }],
    [{ ip: "2001:db8::1" }],
    [{ ip: "web-1.example" }],
    [{ wildcard_domain: "" }],
    [{ server_disk_usage_check_frequency: "daily" }],
  ])("takes %j", (sent) => {
    expect(ServerUpdate.safeParse(sent).success).toBe(true);
  });
});

test.each([
  ["::ffff:172.17.0.3", "172.17.0.3"],
  ["::FFFF:ac11:3", "172.17.0.3"],
  ["2001:DB8:0:0::1", "2001:db8::1"],
  ["Web-1.Example.com", "web-1.example.com"],
])("the address %s is recorded as %s, so that no machine is recorded twice by another spelling", (ip, expected) => {
  expect(ServerUpdate.parse({ ip }).ip).toBe(expected);
});
