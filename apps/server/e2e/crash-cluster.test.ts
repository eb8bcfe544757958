import { execFile } from "node:child_process";
import type { ClusterNode } from "@berth/core/server";
import {
  describeDocker,
  eventually,
  SERVER_IMAGE,
  type ServerContainer,
  startServerContainer,
  until,
} from "@berth/testing";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { CRASHING } from "./crash.fixture.ts";
import { sshServer } from "./seen-server.fixture.ts";
import { type TestServer, testServer } from "./server.fixture.ts";

type Answer = Awaited<ReturnType<TestServer["rest"]>>;

const FIRST = { role: "manager", availability: "active", state: "ready", server_name: "node-1" };
const SECOND = { role: "worker", availability: "active", state: "ready", server_name: "node-2" };
/** A range of its own for the networks of the cluster, and not that of this machine's. */
const POOL = { address_pool: "10.203.0.0/16" };

describeDocker(
  "Berth that is killed while it changes a cluster",
  [SERVER_IMAGE, "caddy:2", "busybox:stable"],
  (docker) => {
    let server: TestServer;
    let machines: readonly [ServerContainer, ServerContainer];
    let uuids: readonly [string, string];

    beforeAll(async () => {
      [server, ...machines] = await Promise.all([
        testServer({ main: CRASHING }),
        startServerContainer(docker),
        startServerContainer(docker),
      ]);
      uuids = await Promise.all([sshServer(server, machines[0], "node-1"), sshServer(server, machines[1], "node-2")]);
    });
    afterEach(async () => {
      if (server === undefined) return;
      // A token lets any machine join, so it is nowhere but in memory.
      expect(server.output()).not.toContain(TOKEN);
      expect(await isInFiles(server.dataFolder, TOKEN)).toBe(false);
    });
    afterAll(async () => {
      await server?.dispose();
    });

    const ask = (method: "GET" | "POST" | "PATCH", path: string, body?: object) => server.rest(method, path, body);
    const list = () => ask("GET", `/servers/${uuids[0]}/nodes`);
    const create = () => ask("POST", `/servers/${uuids[0]}/cluster`, POOL);
    const join = () => ask("POST", `/servers/${uuids[1]}/cluster/join`, { manager_uuid: uuids[0] });
    const leave = (at: 0 | 1) => ask("POST", `/servers/${uuids[at]}/cluster/leave`, {});
    const change = async (fields: object) => {
      const { output } = await machines[1].exec(["docker", "info", "--format", "{{.Swarm.NodeID}}"]);
      return await ask("PATCH", `/servers/${uuids[0]}/nodes/${output.trim()}`, fields);
    };

    /** Repeats a call until it is done: a change of managers makes them choose a leader anew. */
    const done = async (work: () => Promise<Answer>) => {
      await eventually(async () => {
        const { status, body } = await work();
        expect(status, JSON.stringify(body)).toBeLessThan(300);
      });
      await settled();
    };
    const settled = () =>
      eventually(async () => {
        for (const uuid of uuids)
          expect((await ask("GET", `/servers/${uuid}`)).body).toMatchObject({ is_validating: false });
      });
    const isNode = async (at: 0 | 1) => {
      const { settings } = (await ask("GET", `/servers/${uuids[at]}`)).body as { readonly settings: Settings };
      return settings.is_swarm_manager || settings.is_swarm_worker;
    };
    /** The cluster as a test begins, also on a second try. */
    const begun = async (nodes: 0 | 1 | 2, second: object = {}) => {
      await settled();
      if (nodes < 2 && (await isNode(1))) await done(() => leave(1));
      if (nodes < 1 && (await isNode(0))) await done(() => leave(0));
      if (nodes > 0 && !(await isNode(0))) await done(create);
      if (nodes > 1 && !(await isNode(1))) await done(join);
      if (nodes > 1) await done(() => change({ role: "worker", availability: "active", ...second }));
    };
    const shown = async (...expected: readonly object[]) => {
      await settled();
      await eventually(async () => {
        const nodes = (await list()).body as readonly ClusterNode[];
        expect(
          nodes.map(({ role, availability, state, server_name }) => ({ role, availability, state, server_name })),
        ).toEqual(expected);
      });
    };

    /** Begins the work in a Berth that dies in this call to an engine, and starts it again. */
    async function killed(call: string, work: () => Promise<unknown>): Promise<void> {
      await server.stop();
      await server.start({ BERTH_CRASH_CALL: call });
      await until(
        async () => {
          if (!server.hasEnded()) await work().catch(() => undefined);
          return server.hasEnded();
        },
        { what: `Berth dies ${call}`, seconds: 60 },
      );
      await server.start();
    }

    test("has its cluster when it is created again", async () => {
      await begun(0);
      for (const moment of ["before", "middle", "after"]) await killed(`${moment} POST /swarm/init`, create);
      await done(create);
      await shown(FIRST);
      const { output } = await machines[0].exec(["docker", "info", "--format", "{{.Swarm.Cluster.DefaultAddrPool}}"]);
      expect(output).toContain(POOL.address_pool);
    });

    test("refuses to create one on a machine that another one has, and says what to do", async () => {
      await begun(1);
      await machines[1].exec(["docker", "swarm", "init", "--advertise-addr", machines[1].address]);
      try {
        const message =
          "Server node-2 is a node of another Docker Swarm. Validate it to use that, or run docker swarm leave --force on it.";
        expect(await ask("POST", `/servers/${uuids[1]}/cluster`, POOL)).toMatchObject({
          status: 400,
          body: { message },
        });
        expect(await join()).toMatchObject({ status: 400, body: { code: "resource.state", message } });
      } finally {
        await machines[1].exec(["docker", "swarm", "leave", "--force"]);
      }
    });

    test("has a node once when it joins again", async () => {
      await begun(1);
      for (const moment of ["middle", "after"]) await killed(`${moment} POST /swarm/join`, join);
      await done(join);
      await shown(FIRST, SECOND);
    });

    test("has a manager when it is promoted again, and a worker when it is demoted again", async () => {
      await begun(2);
      await killed(`after ${NODE_UPDATE}`, () => change({ role: "manager" }));
      await done(() => change({ role: "manager" }));
      await shown(FIRST, { ...SECOND, role: "manager" });
      await killed(`middle ${NODE_UPDATE}`, () => change({ role: "worker" }));
      await done(() => change({ role: "worker" }));
      await shown(FIRST, SECOND);
    });

    test("has a drained node when it is drained again, which then takes containers again", async () => {
      await begun(2);
      for (const moment of ["middle", "after"])
        await killed(`${moment} ${NODE_UPDATE}`, () => change({ availability: "drain" }));
      await done(() => change({ availability: "drain" }));
      await shown(FIRST, { ...SECOND, availability: "drain" });
      await killed(`after ${NODE_UPDATE}`, () => change({ availability: "active" }));
      await done(() => change({ availability: "active" }));
      await shown(FIRST, SECOND);
    });

    test("has no node when a manager leaves again", async () => {
      await begun(2, { role: "manager" });
      for (const call of [`after ${NODE_UPDATE}`, "after POST /swarm/leave", "middle DELETE /nodes/"])
        await killed(call, () => leave(1));
      if (await isNode(1)) await done(() => leave(1));
      await shown(FIRST);
      expect(await isNode(1)).toBe(false);
    });

    test("has no node either when the server is validated instead, and it can join again", async () => {
      await begun(2);
      await killed("after POST /swarm/leave", () => leave(1));
      await done(() => ask("POST", `/servers/${uuids[1]}/validate`));
      expect(await isNode(1)).toBe(false);
      await shown(FIRST);
      await done(join);
      await shown(FIRST, SECOND);
    });
  },
);

interface Settings {
  readonly is_swarm_manager: boolean;
  readonly is_swarm_worker: boolean;
}

const TOKEN = "SWMTKN-";
const NODE_UPDATE = "POST /nodes/[^/]+/update";

/** Whether a file of the folder, the database among them, contains the text. */
const isInFiles = (folder: string, text: string): Promise<boolean> =>
  new Promise((resolve, reject) => {
    execFile("grep", ["-rqsaF", "-D", "skip", "--", text, folder], (error) => {
      if (error === null) resolve(true);
      else if (error.code === 1 || error.code === 2) resolve(false);
      else reject(error);
    });
  });
