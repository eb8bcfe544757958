import type { RunOptions, Ulimit } from "../deploy/container.ts";
import { memoryBytes } from "../deploy/memory.ts";

export interface RunOptionRow {
  /** The option may be given without a value. */
  readonly isSwitch?: boolean;
  /** Ends the sentence "It needs". */
  readonly needs: string;
  /** `undefined`: the value is invalid. @param before Options read so far, for options that may be repeated. */
  read(value: string, before: RunOptions): Partial<RunOptions> | undefined;
  /** Whether it grants privileges on the server that containers do not have by default. */
  isPower(change: Partial<RunOptions>): boolean;
}

const never = () => false;
const always = () => true;
const where = <T>(isFine: boolean, change: T): T | undefined => (isFine ? change : undefined);

/** Capabilities that Docker grants every container by default. */
const USUAL_CAPABILITIES = new Set([
  ...["AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE", "NET_RAW"],
  ...["SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"],
]);

const capability = (text: string): string | undefined => {
  const name = text.toUpperCase().replace(/^CAP_/, "");
  return /^[A-Z][A-Z_]{1,30}$/.test(name) ? name : undefined;
};

const readSwitch = (value: string): boolean | undefined =>
  value === "true" ? true : value === "false" ? false : undefined;

/** Whether it is an absolute path in a container without `..`. */
const isPath = (text: string): boolean =>
  /^\/[^\p{Cc}:,]*$/u.test(text) && text.length <= 1024 && !text.split("/").includes("..");

const HOST_NAME =
  /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;
const IP_V4 = /^((25[0-5]|2[0-4]\d|1?\d?\d)(\.(?!$)|$)){4}$/;
const IP_V6 = /^(?=.*:)[0-9A-Fa-f:]{2,39}$/;
const isAddress = (text: string): boolean => IP_V4.test(text) || IP_V6.test(text);

const ULIMITS = new Set([
  ...["as", "core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nice", "nofile", "nproc", "rss"],
  ...["rtprio", "rttime", "sigpending", "stack"],
]);

function readUlimit(value: string): Ulimit | undefined {
  const [, name = "", soft, hard] = /^([a-z]+)=(-1|\d{1,15})(?::(-1|\d{1,15}))?$/.exec(value) ?? [];
  return ULIMITS.has(name) ? { name, soft: Number(soft), hard: Number(hard ?? soft) } : undefined;
}

/** Kernel parameters that Docker isolates per container, so setting one cannot affect the server. */
const OWN_SYSCTL =
  /^(net\.[\w.-]{1,120}|fs\.mqueue\.[\w-]{1,40}|kernel\.(msgmax|msgmnb|msgmni|sem|shmall|shmmax|shmmni|shm_rmid_forced|domainname))$/;

const isUser = (text: string): boolean => /^[a-z_0-9][a-z0-9_-]{0,31}(:[a-z_0-9][a-z0-9_-]{0,31})?$/i.test(text);

/** The supported options of `docker run`. All others are refused. */
export const RUN_OPTION_TABLE = {
  "--cap-add": {
    needs: "the name of a capability, such as NET_ADMIN",
    read: (value, { capAdd }) => {
      const name = capability(value);
      return name === undefined ? undefined : { capAdd: [...capAdd, name] };
    },
    isPower: ({ capAdd = [] }) => capAdd.some((name) => !USUAL_CAPABILITIES.has(name)),
  },
  "--cap-drop": {
    needs: "the name of a capability, such as NET_RAW",
    read: (value, { capDrop }) => {
      const name = capability(value);
      return name === undefined ? undefined : { capDrop: [...capDrop, name] };
    },
    isPower: never,
  },
  "--security-opt": {
    needs: "no-new-privileges, seccomp=unconfined, apparmor=unconfined or label=disable",
    read: (value, { securityOpt }) => {
      const option = value.replace(/^no-new-privileges[:=]true$/, "no-new-privileges").replace(/^(\w+):/, "$1=");
      return where(option === "no-new-privileges" || UNCONFINED.has(option), { securityOpt: [...securityOpt, option] });
    },
    isPower: ({ securityOpt = [] }) => securityOpt.some((option) => UNCONFINED.has(option)),
  },
  "--sysctl": {
    needs: "NAME=VALUE with a name of net., fs.mqueue. or kernel.shm…",
    read: (value, { sysctls }) => {
      const [, name = "", setting = ""] = /^([^=]+)=([\w .:-]{1,255})$/.exec(value) ?? [];
      return where(OWN_SYSCTL.test(name), { sysctls: { ...sysctls, [name]: setting } });
    },
    isPower: never,
  },
  "--ulimit": {
    needs: "NAME=SOFT or NAME=SOFT:HARD, such as nofile=1024:65536",
    read: (value, { ulimits }) => {
      const read = readUlimit(value);
      return read && { ulimits: [...ulimits.filter(({ name }) => name !== read.name), read] };
    },
    isPower: never,
  },
  "--device": {
    needs: "a path below /dev, such as /dev/fuse or /dev/fuse:/dev/fuse:rw",
    read: (value, { devices }) => {
      const [hostPath = "", second, third] = value.split(":");
      const isShort = third === undefined && second !== undefined && /^[rwm]{1,3}$/.test(second);
      const containerPath = second === undefined || isShort ? hostPath : second;
      const permissions = (isShort ? second : third) ?? "rwm";
      const isFine = [hostPath, containerPath].every((path) => isPath(path) && path.startsWith("/dev/"));
      const isWhole = value.split(":").length <= 3 && /^[rwm]{1,3}$/.test(permissions);
      return where(isFine && isWhole, { devices: [...devices, { hostPath, containerPath, permissions }] });
    },
    isPower: always,
  },
  "--gpus": {
    needs: "all, a number, or device=ID,ID",
    read: (value) => {
      if (value === "all") return { gpus: { count: "all", ids: [] } };
      if (/^[1-9]\d?$/.test(value)) return { gpus: { count: Number(value), ids: [] } };
      const [, ids] = /^"?device=([\w-]{1,64}(?:,[\w-]{1,64})*)"?$/.exec(value) ?? [];
      return ids === undefined ? undefined : { gpus: { count: 0, ids: ids.split(",") } };
    },
    isPower: never,
  },
  "--shm-size": {
    needs: "a size such as 256m",
    read: (value) => {
      const shmBytes = memoryBytes(value);
      return where(shmBytes !== null && shmBytes <= SIZE_BYTES_MAX, { shmBytes });
    },
    isPower: never,
  },
  "--tmpfs": {
    needs: "a path, such as /run or /run:rw,size=64m",
    read: (value, { tmpfs }) => {
      const [path = "", options = ""] = value.split(/:(.*)/s);
      const isFine = isPath(path) && path !== "/" && /^([a-z]+(=[\w.%]+)?(,[a-z]+(=[\w.%]+)?)*)?$/.test(options);
      return where(isFine, { tmpfs: { ...tmpfs, [path]: options } });
    },
    isPower: never,
  },
  "--add-host": {
    needs: "NAME:ADDRESS, such as db.internal:10.0.0.5 or host.docker.internal:host-gateway",
    read: (value, { extraHosts }) => {
      const [, name = "", address = ""] = /^([^:=]+)[:=](.+)$/.exec(value) ?? [];
      const isFine = HOST_NAME.test(name) && (isAddress(address) || address === "host-gateway");
      return where(isFine, { extraHosts: [...extraHosts, `${name}:${address}`] });
    },
    isPower: never,
  },
  "--dns": {
    needs: "an IP address",
    read: (value, { dns }) => where(isAddress(value), { dns: [...dns, value] }),
    isPower: never,
  },
  "--init": {
    isSwitch: true,
    needs: "true or false, or nothing",
    read: (value) => {
      const hasInit = readSwitch(value);
      return hasInit === undefined ? undefined : { hasInit };
    },
    isPower: never,
  },
  "--privileged": {
    isSwitch: true,
    needs: "true or false, or nothing",
    read: (value) => {
      const isPrivileged = readSwitch(value);
      return isPrivileged === undefined ? undefined : { isPrivileged };
    },
    isPower: ({ isPrivileged = false }) => isPrivileged,
  },
  "--read-only": {
    isSwitch: true,
    needs: "true or false, or nothing",
    read: (value) => {
      const isReadOnly = readSwitch(value);
      return isReadOnly === undefined ? undefined : { isReadOnly };
    },
    isPower: never,
  },
  "--hostname": {
    needs: "a host name",
    read: (value) => where(HOST_NAME.test(value) && value.length <= 63, { hostname: value }),
    isPower: never,
  },
  "--ip": {
    needs: "an IPv4 address of the server's network",
    read: (value) => where(IP_V4.test(value), { ip: value }),
    isPower: never,
  },
  "--user": {
    needs: "a user, or USER:GROUP",
    read: (value) => where(isUser(value), { user: value }),
    isPower: never,
  },
  "--group-add": {
    needs: "a group of the image",
    read: (value, { groups }) => where(isUser(value) && !value.includes(":"), { groups: [...groups, value] }),
    isPower: never,
  },
  "--workdir": {
    needs: "an absolute path",
    read: (value) => where(isPath(value), { workingFolder: value }),
    isPower: never,
  },
  "--entrypoint": {
    needs: "a program of the image",
    read: (value) => where(/^[^\p{Cc}]{1,1000}$/u.test(value) && value.trim() !== "", { entrypoint: value }),
    isPower: never,
  },
  "--stop-signal": {
    needs: "the name of a signal, such as SIGINT",
    read: (value) => where(/^(SIG)?[A-Z][A-Z0-9+-]{1,12}$/.test(value), { stopSignal: value }),
    isPower: never,
  },
  "--pids-limit": {
    needs: "a number of processes",
    read: (value) => where(/^[1-9]\d{0,6}$/.test(value), { processesMax: Number(value) }),
    isPower: never,
  },
} as const satisfies Readonly<Record<`--${string}`, RunOptionRow>>;

const UNCONFINED: ReadonlySet<string> = new Set(["seccomp=unconfined", "apparmor=unconfined", "label=disable"]);
const SIZE_BYTES_MAX = 2 ** 40;

export type RunOptionName = keyof typeof RUN_OPTION_TABLE;

export const isRunOptionName = (name: string): name is RunOptionName => Object.hasOwn(RUN_OPTION_TABLE, name);
