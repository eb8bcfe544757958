import { DomainError, invalid } from "../errors.ts";
import type { StorageFields, StorageRecord } from "../ports/storage.ts";
import { normalPath, type StorageCreate, type StorageUpdate } from "./storage-input.ts";

/** Limit per resource: far above real use, and still fast to read. */
export const STORAGES_MAX = 100;

export interface StoragePlace {
  /** Uuid of the resource, or of its container, that mounts the storage. */
  readonly resourceUuid: string;
  /** Name of the container, if the resource has several. */
  readonly container: string | null;
}

/** @throws DomainError `request.invalid` for fields that exclude each other */
export function newStorage(sent: StorageCreate, { resourceUuid, container }: StoragePlace): StorageFields {
  const isDirectory = sent.type === "file" && (sent.is_directory ?? false);
  requireNone({ ...foreignProblems(sent), ...missingProblems(sent), ...directoryProblems(sent) });
  return {
    type: sent.type,
    name: sent.type === "persistent" ? `${resourceUuid}-${sent.name}` : null,
    mount_path: normalPath(sent.mount_path),
    host_path: pathOrNull(sent.host_path),
    fs_path: isDirectory ? pathOrNull(sent.fs_path) : null,
    content: sent.type === "file" && !isDirectory ? (sent.content ?? "") : null,
    is_directory: isDirectory,
    is_preview_suffix_enabled: true,
    container,
    is_managed: false,
    is_read_only: false,
  };
}

/** Whether its data lies on the server that mounts it, unlike a file that every release gets anew. */
export const isServerData = ({
  type,
  host_path,
  is_directory,
}: Pick<StorageFields, "type" | "host_path" | "is_directory">): boolean =>
  type === "persistent" || host_path !== null || is_directory;

/** @throws DomainError `request.invalid` for a field that this storage lacks or that only its definition can change */
export function storageChange(current: StorageRecord, sent: StorageUpdate): Partial<StorageFields> {
  requireWritable(current, sent);
  requireNone({ ...typeProblems(current, sent), ...foreignProblems({ ...sent, type: current.type }) });
  const { name, mount_path, host_path, content, is_preview_suffix_enabled } = sent;
  const isFile = current.type === "file";
  if (!isFile && name === null) throw invalid({ name: ["This field is required."] });
  if (current.is_directory && isGiven(content)) throw invalid({ content: [NO_DIRECTORY_CONTENT] });
  return {
    ...(isGiven(name) ? { name } : {}),
    ...(mount_path === undefined ? {} : { mount_path: normalPath(mount_path) }),
    ...(host_path === undefined ? {} : { host_path: pathOrNull(host_path) }),
    ...(content === undefined || !isFile || current.is_directory ? {} : { content: content ?? "" }),
    ...(is_preview_suffix_enabled === undefined ? {} : { is_preview_suffix_enabled }),
  };
}

/** Whether only the resource's own definition can change it, except for the suffix of previews. */
export const isReadOnly = ({ is_managed, is_read_only }: StorageFields): boolean => is_managed || is_read_only;

/** @throws DomainError `request.invalid` */
export function requireDeletable(storage: StorageRecord): StorageRecord {
  if (!isReadOnly(storage)) return storage;
  throw invalid({ _: [`${READ_ONLY} Remove it there.`] });
}

/** A storage defined by a service, compose file or database engine is changed there. */
const READ_ONLY = "This storage is managed by its resource's own definition.";
const DEFINED_FIELDS = ["name", "mount_path", "host_path", "content"] as const;

function requireWritable(current: StorageRecord, sent: StorageUpdate): void {
  const refused = DEFINED_FIELDS.filter((field) => sent[field] !== undefined);
  if (!isReadOnly(current) || refused.length === 0) return;
  const sentence = `${READ_ONLY} Only is_preview_suffix_enabled can be changed.`;
  throw new DomainError("request.invalid", sentence, {
    fields: Object.fromEntries(refused.map((field) => [field, [sentence]])),
    details: { read_only_fields: refused },
  });
}

type Problems = Readonly<Record<string, readonly string[]>>;

function requireNone(problems: Problems): void {
  if (Object.keys(problems).length > 0) throw invalid(problems);
}

const isGiven = <T>(value: T): value is NonNullable<T> => value !== undefined && value !== null;

const pathOrNull = (path: string | null | undefined): string | null => (isGiven(path) ? normalPath(path) : null);

const typeProblems = (current: StorageRecord, { type }: StorageUpdate): Problems =>
  type === undefined || type === current.type ? {} : { type: [`Must be ${current.type}, as the storage is.`] };

/** Problems of fields that belong to the other type. Null is allowed. */
function foreignProblems(sent: Omit<StorageCreate, "mount_path">): Problems {
  const foreign =
    sent.type === "persistent" ? (["content", "fs_path", "is_directory"] as const) : (["name", "host_path"] as const);
  const sentence =
    sent.type === "persistent" ? "Only files have this field." : "Only persistent storages have this field.";
  const given = foreign.filter((field) => isGiven(sent[field]) && sent[field] !== false);
  return Object.fromEntries(given.map((field) => [field, [sentence]]));
}

const missingProblems = ({ type, name }: StorageCreate): Problems =>
  type === "persistent" && !isGiven(name) ? { name: ["This field is required."] } : {};

const NO_DIRECTORY_CONTENT = "A directory has no content.";

function directoryProblems({ type, is_directory = false, fs_path, content }: StorageCreate): Problems {
  if (type === "persistent") return {};
  if (!is_directory) return isGiven(fs_path) ? { fs_path: ["Only a directory has this field: set is_directory."] } : {};
  return {
    ...(isGiven(fs_path) ? {} : { fs_path: ["This field is required for a directory."] }),
    ...(isGiven(content) ? { content: [NO_DIRECTORY_CONTENT] } : {}),
  };
}
