import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RUN_OPTION_TABLE } from "./run-option-table.ts";
import { NO_RUN_OPTIONS, readRunOptions, runOptionProblems } from "./run-options.ts";

const read = (text: string) => {
  const { options, problems } = readRunOptions(text);
  expect(problems).toEqual([]);
  const usual = new Map<string, unknown>(Object.entries(NO_RUN_OPTIONS));
  return Object.fromEntries(
    Object.entries(options).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(usual.get(name))),
  );
};

describe("the options of a container", () => {
  test.each([
    ["", {}],
    ["--cap-add NET_ADMIN --cap-add=cap_sys_time", { capAdd: ["NET_ADMIN", "SYS_TIME"] }],
    ["--cap-drop ALL", { capDrop: ["ALL"] }],
    ["--security-opt no-new-privileges:true", { securityOpt: ["no-new-privileges"] }],
    ["--security-opt=seccomp:unconfined", { securityOpt: ["seccomp=unconfined"] }],
    ["--sysctl net.core.somaxconn=1024", { sysctls: { "net.core.somaxconn": "1024" } }],
    [
      "--sysctl 'net.ipv4.ip_local_port_range=1024 65000'",
      { sysctls: { "net.ipv4.ip_local_port_range": "1024 65000" } },
    ],
    ["--ulimit nofile=1024:65536", { ulimits: [{ name: "nofile", soft: 1024, hard: 65536 }] }],
    ["--ulimit nproc=64 --ulimit nproc=65", { ulimits: [{ name: "nproc", soft: 65, hard: 65 }] }],
    ["--device /dev/fuse", { devices: [{ hostPath: "/dev/fuse", containerPath: "/dev/fuse", permissions: "rwm" }] }],
    ["--device /dev/a:/dev/b:r", { devices: [{ hostPath: "/dev/a", containerPath: "/dev/b", permissions: "r" }] }],
    ["--gpus all", { gpus: { count: "all", ids: [] } }],
    ["--gpus 2", { gpus: { count: 2, ids: [] } }],
    [`--gpus '"device=0,GPU-1a"'`, { gpus: { count: 0, ids: ["0", "GPU-1a"] } }],
    ["--shm-size 256m", { shmBytes: 256 << 20 }],
    ["--tmpfs /run:rw,size=64m --tmpfs /tmp", { tmpfs: { "/run": "rw,size=64m", "/tmp": "" } }],
    ["--add-host db.internal:10.0.0.5", { extraHosts: ["db.internal:10.0.0.5"] }],
    ["--add-host host.docker.internal=host-gateway", { extraHosts: ["host.docker.internal:host-gateway"] }],
    ["--init=false --privileged --read-only", { hasInit: false, isPrivileged: true, isReadOnly: true }],
    ["--hostname web-1 --ip 10.0.0.9", { hostname: "web-1", ip: "10.0.0.9" }],
    ["--entrypoint '/bin/my program'", { entrypoint: "/bin/my program" }],
    ["--user 1000:1000 --workdir /srv", { user: "1000:1000", workingFolder: "/srv" }],
    ["--stop-signal SIGINT --pids-limit 100", { stopSignal: "SIGINT", processesMax: 100 }],
    ["--init \\\n  --cap-drop \\\r\n NET_RAW", { hasInit: true, capDrop: ["NET_RAW"] }],
  ])("%j are %j", (text, options) => {
    expect(read(text)).toEqual(options);
  });

  test.each([
    ["-v /:/host", "-v is not allowed. Allowed are --cap-add"],
    ["--volume=/:/host", "--volume is not allowed."],
    ["--mount type=bind,src=/,dst=/host", "--mount is not allowed."],
    ["--network host", "--network is not allowed."],
    ["--pid=host", "--pid is not allowed."],
    ["--userns host", "--userns is not allowed."],
    ["--cgroup-parent x", "--cgroup-parent is not allowed."],
    ["--label berth.managed=false", "--label is not allowed."],
    ["--rm; rm -rf /", "--rm; is not allowed."],
    ["$(id)", "$(id) is not allowed."],
    ["--cap-add", "--cap-add needs the name of a capability"],
    ["--cap-add '--privileged'", "--cap-add needs the name of a capability"],
    ["--hostname a;b", "--hostname needs a host name."],
    ["--hostname", "--hostname needs a host name."],
    ["--init=maybe", "--init needs true or false"],
    ["--sysctl kernel.panic=1", "--sysctl needs NAME=VALUE"],
    ["--sysctl vm.overcommit_memory=1", "--sysctl needs NAME=VALUE"],
    ["--device /etc/shadow", "--device needs a path below /dev"],
    ["--device /dev/../etc/shadow", "--device needs a path below /dev"],
    ["--device /dev/a:/dev/b:rwm:x", "--device needs a path below /dev"],
    ["--tmpfs /", "--tmpfs needs a path"],
    ["--tmpfs /a/../b", "--tmpfs needs a path"],
    ["--tmpfs /a:exec,src=/etc/x:y", "--tmpfs needs a path"],
    ["--security-opt seccomp=/etc/profile.json", "--security-opt needs no-new-privileges"],
    ["--security-opt systempaths=unconfined", "--security-opt needs no-new-privileges"],
    ["--shm-size 0", "--shm-size needs a size"],
    ["--shm-size 99999t", "--shm-size needs a size"],
    ["--ip 999.1.1.1", "--ip needs an IPv4 address"],
    ["--add-host a:b", "--add-host needs NAME:ADDRESS"],
    ["--ulimit nofile=1:2:3", "--ulimit needs NAME=SOFT"],
    ["--user 'a b'", "--user needs a user"],
    ["--pids-limit -1", "--pids-limit needs a number"],
    ["--init 'x", "A quotation mark is not closed."],
    ["--__proto__ x", "--__proto__ is not allowed."],
    ["--constructor", "--constructor is not allowed."],
  ])("%j is refused", (text, sentence) => {
    expect(runOptionProblems({ custom_docker_run_options: text }).custom_docker_run_options?.[0]).toContain(sentence);
  });

  test.each([
    ["--init --shm-size 1g --cap-add CHOWN --cap-drop ALL --security-opt no-new-privileges --gpus all", []],
    ["--cap-add SYS_ADMIN", ["--cap-add"]],
    ["--cap-add ALL --device /dev/kvm --device /dev/fuse", ["--cap-add", "--device"]],
    ["--privileged", ["--privileged"]],
    ["--privileged=false", []],
    ["--security-opt apparmor=unconfined", ["--security-opt"]],
    ["--security-opt label=disable --security-opt seccomp=unconfined", ["--security-opt"]],
  ])("%j give privileges on the server by %j", (text, powers) => {
    expect(readRunOptions(text).powers).toEqual(powers);
  });

  test("are read or refused whatever they are, and what was refused changes nothing", () => {
    const names = Object.keys(RUN_OPTION_TABLE);
    const word = fc.oneof(fc.constantFrom(...names, "'", '"', "\\", "=", "--", "$(x)", "`x`"), fc.string());
    fc.assert(
      fc.property(fc.array(word), fc.constantFrom(" ", "=", "\n", ""), (words, between) => {
        const { options, problems } = readRunOptions(words.join(between));
        const shape = Object.keys(options).sort();
        expect(shape).toEqual(Object.keys(NO_RUN_OPTIONS).sort());
        for (const sentence of problems) expect(sentence).toMatch(/(is not allowed|needs|is not closed)/);
      }),
    );
  });

  test("keep what stands in quotation marks together, whatever it is", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[^'\p{Cc}\s][^'\p{Cc}]{0,40}[^'\p{Cc}\s]$/u), (text) => {
        expect(readRunOptions(`--entrypoint '${text.replaceAll("\\\n", "")}'`).options.entrypoint).toBe(text);
      }),
    );
  });
});
