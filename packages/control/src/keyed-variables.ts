import { DomainError, type FieldErrors, invalid, isDomainError, notFound } from "@berth/core";
import { entryProblems } from "@berth/core/env";
import type { Page, Paging, Stores } from "@berth/core/ports";
import { requireAbility, type Scope } from "@berth/core/team";

/** The part of a request that selects one variable. */
interface SentVariable {
  readonly key: string;
  readonly value?: string | null | undefined;
  readonly is_shown_once?: boolean | undefined;
}

interface Variable {
  readonly uuid: string;
  readonly is_shown_once: boolean;
}

/** The variables of one owner, in the stores (or transaction) that the owner was read from. */
export interface OwnedVariables<Change extends SentVariable, Row extends Variable, View> {
  list(paging: Paging): Promise<Page<Row>>;
  find(sent: Change): Promise<Row | undefined>;
  insert(sent: Change): Promise<Row>;
  change(current: Row, sent: Change): Promise<Row>;
  /** Saves changes that are still in memory. @returns The rows as they were after each change, with what was saved. */
  flush(changed: readonly Row[]): Promise<readonly Row[]>;
  delete(uuid: string): Promise<boolean>;
  /** Emitted after all changes of a request. @param keys Keys of the written variables; values are secrets. */
  emitChange(keys: readonly string[]): Promise<void>;
  views(rows: readonly Row[]): Promise<readonly View[]>;
}

/** What differs between variables of resources and shared variables. */
export interface VariableKind<Ref, Change extends SentVariable, Row extends Variable, View> {
  /** Name of one in messages. */
  readonly title: string;
  /** @throws DomainError `resource.not_found` */
  of(stores: Stores, ref: Ref): Promise<OwnedVariables<Change, Row, View>>;
  /**
   * Locks the owner, so that changes are serialised.
   * @param keys Keys that many changes name: such variables may be changed in memory until `flush`.
   * @throws DomainError `resource.not_found`
   */
  forUpdate(tx: Stores, ref: Ref, keys?: readonly string[]): Promise<OwnedVariables<Change, Row, View>>;
}

/** Use cases for variables that requests select by key. */
export function keyedVariables<Ref, Change extends SentVariable, Row extends Variable, View>(
  { scope, stores }: { readonly scope: Scope; readonly stores: Stores },
  { title, of, forUpdate }: VariableKind<Ref, Change, Row, View>,
) {
  type Owned = OwnedVariables<Change, Row, View>;
  const exists = (cause?: unknown) => {
    const sentence = `${title} already exists. Use PATCH request to update it.`;
    return new DomainError("resource.already_exists", sentence, cause === undefined ? {} : { cause });
  };
  const change = async (owned: Owned, current: Row, sent: Change, place = ""): Promise<Row> => {
    if (current.is_shown_once && sent.is_shown_once === false && sent.value === undefined) {
      throw invalid({ [`${place}is_shown_once`]: ["Its value is never shown again. Send a value with it."] });
    }
    return await owned.change(current, sent);
  };
  const save = async (owned: Owned, sent: Change, place: string): Promise<Row> => {
    const current = await owned.find(sent);
    return current === undefined ? await owned.insert(sent) : await change(owned, current, sent, place);
  };
  const viewOf = async (owned: Owned, row: Row): Promise<View> => {
    const [view] = await owned.views([row]);
    if (view === undefined) throw new DomainError("internal.error", `A ${title.toLowerCase()} is shown as nothing.`);
    return view;
  };
  /** Runs in one transaction, serialised with other changes of the owner. */
  const write = <T>(ref: Ref, work: (owned: Owned) => Promise<T>): Promise<T> =>
    stores.transaction(async (tx) => work(await forUpdate(tx, ref)));

  return {
    async list(ref: Ref, paging: Paging): Promise<Page<View>> {
      requireAbility(scope, "read");
      const owned = await of(stores, ref);
      const { items, total } = await owned.list(paging);
      return { items: await owned.views(items), total };
    },

    /** @throws DomainError `request.invalid`, `resource.already_exists` */
    async create(ref: Ref, sent: Change): Promise<View> {
      requireAbility(scope, "write");
      requireNone(entryProblems(sent));
      return write(ref, async (owned) => {
        if ((await owned.find(sent)) !== undefined) throw exists();
        const made = await owned.insert(sent).catch((cause: unknown) => {
          // Of two simultaneous requests, the second one fails.
          throw isDomainError(cause, "resource.already_exists") ? exists(cause) : cause;
        });
        await owned.emitChange([sent.key]);
        return viewOf(owned, made);
      });
    },

    /** The key selects the variable. @throws DomainError `request.invalid` */
    async update(ref: Ref, sent: Change): Promise<View> {
      requireAbility(scope, "write");
      requireNone(entryProblems(sent));
      return write(ref, async (owned) => {
        const current = await owned.find(sent);
        if (current === undefined) throw notFound(title);
        const changed = await change(owned, current, sent);
        await owned.emitChange([sent.key]);
        return viewOf(owned, changed);
      });
    },

    /** Creates or changes variables by key; all of them or none. */
    async updateBulk(ref: Ref, { data = [] }: { readonly data?: readonly Change[] | undefined }): Promise<View[]> {
      requireAbility(scope, "write");
      if (data.length === 0) throw new DomainError("request.malformed", "Bulk data is required.");
      requireNone(Object.assign({}, ...data.map((sent, at) => entryProblems(sent, `data.${at}.`))));
      const keys = [...new Set(data.map(({ key }) => key))];
      return stores.transaction(async (tx) => {
        const owned = await forUpdate(tx, ref, keys);
        const changed: Row[] = [];
        for (const [at, sent] of data.entries()) changed.push(await save(owned, sent, `data.${at}.`));
        const saved = await owned.flush(changed);
        await owned.emitChange(keys);
        return [...(await owned.views(saved))];
      });
    },

    async delete(ref: Ref, uuid: string): Promise<{ message: string }> {
      requireAbility(scope, "write");
      await write(ref, async (owned) => {
        if (!(await owned.delete(uuid))) throw notFound(title);
        await owned.emitChange([]);
      });
      return { message: `${title} deleted.` };
    },
  };
}

function requireNone(problems: FieldErrors): void {
  if (Object.keys(problems).length > 0) throw invalid(problems);
}
