import { DomainError, type FieldErrors, invalid, isDomainError, notFound } from "@berth/core";
import { entryProblems } from "@berth/core/env";
import type { Page, Paging, Stores } from "@berth/core/ports";
import { requireAbility, type Scope } from "@berth/core/team";

/** A request about one variable. */
interface Sent {
  readonly key: string;
  readonly value?: string | null | undefined;
  readonly is_shown_once?: boolean | undefined;
}

interface Variable {
  readonly uuid: string;
  readonly is_shown_once: boolean;
}

/** Differences by owner of the variables. `tx` are the stores of the change's transaction. */
export interface KeyedVariables<Ref, Owner, Change extends Sent, Row extends Variable, View> {
  /** As messages call one. */
  readonly title: string;
  /** @throws DomainError `resource.not_found` */
  owner(stores: Stores, ref: Ref): Promise<Owner>;
  /** For changes, which follow one after the other. @throws DomainError `resource.not_found` */
  ownerAlone(tx: Stores, ref: Ref): Promise<Owner>;
  list(stores: Stores, owner: Owner, paging: Paging): Promise<Page<Row>>;
  find(tx: Stores, owner: Owner, sent: Change): Promise<Row | undefined>;
  insert(tx: Stores, owner: Owner, sent: Change): Promise<Row>;
  change(tx: Stores, owner: Owner, current: Row, sent: Change): Promise<Row>;
  delete(tx: Stores, owner: Owner, uuid: string): Promise<boolean>;
  /** After all changes of a request. @param keys Those that were written; values are secrets. */
  changed(tx: Stores, owner: Owner, keys: readonly string[]): Promise<void>;
  views(stores: Stores, owner: Owner, rows: readonly Row[]): Promise<readonly View[]>;
}

/** The use cases of variables that requests choose by their keys. */
export function keyedVariables<Ref, Owner, Change extends Sent, Row extends Variable, View>(
  { scope, stores }: { readonly scope: Scope; readonly stores: Stores },
  variables: KeyedVariables<Ref, Owner, Change, Row, View>,
) {
  const { title } = variables;
  const exists = (cause?: unknown) => {
    const sentence = `${title} already exists. Use PATCH request to update it.`;
    return new DomainError("resource.already_exists", sentence, cause === undefined ? {} : { cause });
  };
  const change = async (tx: Stores, owner: Owner, current: Row, sent: Change, place = ""): Promise<Row> => {
    if (current.is_shown_once && sent.is_shown_once === false && sent.value === undefined) {
      throw invalid({ [`${place}is_shown_once`]: ["Its value is never shown again. Send a value with it."] });
    }
    return await variables.change(tx, owner, current, sent);
  };
  const save = async (tx: Stores, owner: Owner, sent: Change, place: string): Promise<Row> => {
    const current = await variables.find(tx, owner, sent);
    return current === undefined
      ? await variables.insert(tx, owner, sent)
      : await change(tx, owner, current, sent, place);
  };
  const viewOf = async (tx: Stores, owner: Owner, row: Row): Promise<View> => {
    const [view] = await variables.views(tx, owner, [row]);
    if (view === undefined) throw new DomainError("internal.error", `A ${title.toLowerCase()} is shown as nothing.`);
    return view;
  };

  return {
    async list(ref: Ref, paging: Paging): Promise<Page<View>> {
      requireAbility(scope, "read");
      const owner = await variables.owner(stores, ref);
      const { items, total } = await variables.list(stores, owner, paging);
      return { items: await variables.views(stores, owner, items), total };
    },

    /** @throws DomainError `request.invalid`, `resource.already_exists` */
    async create(ref: Ref, sent: Change): Promise<View> {
      requireAbility(scope, "write");
      requireNone(entryProblems(sent));
      return stores.transaction(async (tx) => {
        const owner = await variables.ownerAlone(tx, ref);
        if ((await variables.find(tx, owner, sent)) !== undefined) throw exists();
        const made = await variables.insert(tx, owner, sent).catch((cause: unknown) => {
          // One of two simultaneous requests is too late.
          throw isDomainError(cause, "resource.already_exists") ? exists(cause) : cause;
        });
        await variables.changed(tx, owner, [sent.key]);
        return viewOf(tx, owner, made);
      });
    },

    /** The variable is chosen by its key. @throws DomainError `request.invalid` */
    async update(ref: Ref, sent: Change): Promise<View> {
      requireAbility(scope, "write");
      requireNone(entryProblems(sent));
      return stores.transaction(async (tx) => {
        const owner = await variables.ownerAlone(tx, ref);
        const current = await variables.find(tx, owner, sent);
        if (current === undefined) throw notFound(title);
        const changed = await change(tx, owner, current, sent);
        await variables.changed(tx, owner, [sent.key]);
        return viewOf(tx, owner, changed);
      });
    },

    /** Creates or changes each by its key; all of them or none. */
    async updateBulk(ref: Ref, { data = [] }: { readonly data?: readonly Change[] | undefined }): Promise<View[]> {
      requireAbility(scope, "write");
      if (data.length === 0) throw new DomainError("request.malformed", "Bulk data is required.");
      requireNone(Object.assign({}, ...data.map((sent, at) => entryProblems(sent, `data.${at}.`))));
      return stores.transaction(async (tx) => {
        const owner = await variables.ownerAlone(tx, ref);
        const saved: Row[] = [];
        for (const [at, sent] of data.entries()) saved.push(await save(tx, owner, sent, `data.${at}.`));
        await variables.changed(tx, owner, [...new Set(data.map(({ key }) => key))]);
        return [...(await variables.views(tx, owner, saved))];
      });
    },

    async delete(ref: Ref, uuid: string): Promise<{ message: string }> {
      requireAbility(scope, "write");
      await stores.transaction(async (tx) => {
        const owner = await variables.ownerAlone(tx, ref);
        if (!(await variables.delete(tx, owner, uuid))) throw notFound(title);
        await variables.changed(tx, owner, []);
      });
      return { message: `${title} deleted.` };
    },
  };
}

function requireNone(problems: FieldErrors): void {
  if (Object.keys(problems).length > 0) throw invalid(problems);
}
