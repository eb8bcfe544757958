import type { Argv } from "../../argv.ts";

/**
 * - `identifier`: a name inside the database, made when it starts first
 * - `password`: a secret; 64 random letters and digits when none is given
 * - `text`: any text, or none
 * - `configuration`: text of a file, plain or in base64
 * - `flag`: `true` or `false`
 * - `choice`: one of its options
 * - `scripts`: files that are run at the first start; a secret, as `InitScripts`
 * - `fixed`: answered, never set
 * - `issued`: answered, and set by Berth alone
 */
type FieldType =
  | "identifier"
  | "password"
  | "text"
  | "configuration"
  | "flag"
  | "choice"
  | "scripts"
  | "fixed"
  | "issued";

/** One of an engine's own fields, as requests and answers name it. */
export interface EngineField<Type extends FieldType = FieldType, Variable extends string | null = string | null> {
  readonly type: Type;
  /** For `identifier`, `flag`, `choice` and `fixed`. */
  readonly default: string | null;
  /** Values of a `choice`, and file extensions of `scripts`. */
  readonly options?: readonly string[];
  readonly about: string;
  /** The environment variable that is the field, where its owner may change it too. */
  readonly variable: Variable;
}
export type EngineFields = Readonly<Record<string, EngineField>>;

/** Values of the fields; `null` when unset or when the owner deleted the variable. */
export type EngineValues<Fields extends EngineFields = EngineFields> = {
  readonly [Name in keyof Fields]: string | null;
};

/** How clients reach it, but for host and port. */
export interface DatabaseAddress {
  readonly scheme: string;
  readonly user: string | null;
  readonly password: string | null;
  /** The part of the URL after the port, such as `/shop`. */
  readonly path: string;
}

/** A file for the database's container, or for one command in it. */
export interface DatabaseFile {
  readonly path: string;
  readonly text: string;
  /** Only the account that the server runs as reads it. */
  readonly isSecret?: boolean;
}

/** A certificate with its key, in PEM. */
export interface TlsCertificate {
  /** The authority that clients verify the certificate with. */
  readonly authority: string;
  readonly certificate: string;
  /** Private key of the certificate. */
  readonly key: string;
}

/** A command in the database's container. Secrets are in `variables` and `file`, never in `argv`. */
export interface DatabaseCommand {
  readonly argv: Argv;
  readonly variables: Readonly<Record<string, string>>;
  /** For this command only. */
  readonly file?: DatabaseFile;
}

/** How the image is started; without `argv` by its own command. */
export interface DatabaseStart {
  readonly argv?: Argv;
  readonly files?: readonly DatabaseFile[];
}

/** What a backup of a database contains. */
export interface DumpTarget {
  readonly database: string;
  /** MongoDB only. */
  readonly excludedCollections: readonly string[];
}

/** Format of a dump's file. */
export interface DumpFormat {
  /** Extension of the file's name, with its dot. */
  readonly extension: string;
  /** By the tool that makes it. */
  readonly isCompressed: boolean;
}

/** The database that was saved, and the one it goes into. */
export interface RestoreTarget {
  readonly from: string;
  readonly into: string;
}

/** Dumps go to standard output, restores read standard input. */
export interface DumpCommands<Fields extends EngineFields> {
  readonly formats: { readonly one: DumpFormat; readonly all: DumpFormat };
  /** Between the entries of `databases_to_backup`. */
  readonly separator: "," | "|";
  readonly hasCollections: boolean;
  /** The field that names the database that is made first. */
  readonly mainField: keyof Fields & string;
  dump(values: EngineValues<Fields>, target: DumpTarget): DatabaseCommand;
  dumpAll(values: EngineValues<Fields>): DatabaseCommand;
  restore(values: EngineValues<Fields>, target: RestoreTarget): DatabaseCommand;
  restoreAll(values: EngineValues<Fields>): DatabaseCommand;
  /**
   * After `restoreAll`, which brings the users of what was saved, also when it failed: statements that give these ones
   * their passwords back, and let them in.
   */
  keepLogin?(values: EngineValues<Fields>): DatabaseCommand & { readonly input: string };
  /** A restore of one database happens in one transaction: all of it or nothing. */
  readonly isRestoreAtomic: boolean;
  /**
   * How the server is told to end what it does for a program, which ends by itself then: by a name that the program
   * goes by. Missing where a server cannot be told so.
   */
  readonly interruption?: {
    /** Names the program to the server. */
    readonly variable: string;
    /** @param name Letters, digits and `-`. */
    command(values: EngineValues<Fields>, name: string): DatabaseCommand;
  };
  /** A line of what a restore wrote to standard error that makes it a failure, although it exits with 0. */
  isProblem?(line: string): boolean;
  /** Prints the databases that hold data of users, one a line. */
  databases(values: EngineValues<Fields>): DatabaseCommand;
  /** Prints each table of a database and its rows, with a tab between them. */
  countRows(values: EngineValues<Fields>, database: string): DatabaseCommand;
}

/** All that is known of an engine. The functions are methods, so that a row of some fields is a row of any. */
export interface EngineRow<Fields extends EngineFields = EngineFields, Collection extends string = string> {
  readonly title: string;
  /** Its databases in the answer about an environment. */
  readonly collection: Collection;
  readonly image: string;
  readonly port: number;
  /** Instead of `port`, where it offers TLS. */
  readonly tlsPort?: number;
  /** The accounts of its images that the server runs as: the first that there is reads what nobody else may. */
  readonly accounts: readonly string[];
  /** Where it keeps its data: a storage of every database. */
  readonly dataPath: string;
  readonly fields: Fields;
  address(values: EngineValues<Fields>, image: string): DatabaseAddress;
  /** Variables that the image reads at its start, besides the owner's. */
  variables(values: EngineValues<Fields>): Readonly<Record<string, string>>;
  /** @param certificate `null`: without TLS. */
  start(values: EngineValues<Fields>, certificate: TlsCertificate | null): DatabaseStart;
  /** Healthy when it exits with 0. */
  health(values: EngineValues<Fields>): Argv;
  /** Its own client with all rights, which reads statements from standard input. Missing where Berth starts none. */
  client?(values: EngineValues<Fields>): DatabaseCommand;
  /** `null`: it cannot be saved while it runs. */
  readonly dumps: DumpCommands<NoInfer<Fields>> | null;
}

/** Infers the fields, so that the functions know their names. */
export const engineRow = <const Fields extends EngineFields, const Collection extends string>(
  row: EngineRow<Fields, Collection>,
): EngineRow<Fields, Collection> => row;

export const identifier = (byDefault: string, about: string) =>
  ({ type: "identifier", default: byDefault, about, variable: null }) as const;
export const password = (about: string) => ({ type: "password", default: null, about, variable: null }) as const;
export const text = (about: string) => ({ type: "text", default: null, about, variable: null }) as const;
export const configuration = (about: string) =>
  ({ type: "configuration", default: null, about, variable: null }) as const;
export const fixed = (value: string, about: string) =>
  ({ type: "fixed", default: value, about, variable: null }) as const;
export const flag = (about: string) => ({ type: "flag", default: "false", about, variable: null }) as const;
export const choice = <const Option extends string>(options: readonly Option[], byDefault: Option, about: string) =>
  ({ type: "choice", default: byDefault, options, about, variable: null }) as const;
/** @param extensions Of the texts that the image runs. */
export const scripts = (...extensions: readonly string[]) =>
  ({
    type: "scripts",
    default: null,
    options: extensions,
    about:
      "Scripts that are run when it starts for the first time, in this order, or that of index: " +
      `files named *${extensions.join(" or *")}. Later changes of them change nothing in it.`,
    variable: null,
  }) as const;
export const issued = (about: string) => ({ type: "issued", default: null, about, variable: null }) as const;

/** The field is an environment variable of the database. */
export const asVariable = <Type extends FieldType, const Variable extends string>(
  field: EngineField<Type>,
  variable: Variable,
): EngineField<Type, Variable> => ({ ...field, variable });

/** Without those that are `null`. */
export const given = (variables: Readonly<Record<string, string | null>>): Readonly<Record<string, string>> =>
  // The filter leaves texts only.
  Object.fromEntries(Object.entries(variables).filter(([, value]) => value !== null)) as Record<string, string>;
