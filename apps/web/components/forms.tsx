import type { ProblemBody } from "@berth/api";
import { z } from "zod";
import { RestError } from "../src/api/rest.ts";
import { STORED } from "../src/parts/field.ts";
import { type FieldGroup, SchemaForm } from "../src/parts/form.tsx";

const Shop = z.object({
  name: z
    .string()
    .min(1, "Enter a name.")
    .max(10, "At most 10 characters.")
    .describe("Shown in lists. At most 10 characters."),
  port: z.int().min(1, "From 1 to 65535.").max(65535, "From 1 to 65535.").optional().describe("From 1 to 65535."),
  size: z.enum(["small", "large"]).optional(),
  is_public: z.boolean().optional(),
  note: z.string().nullable().optional(),
  password: z.string().min(8, "At least 8 characters.").optional(),
});
const GROUPS: readonly FieldGroup[] = [
  { title: "Shop", fields: ["name", "port", "size", "is_public"] },
  { title: "More", fields: ["note", "password"] },
];
/** What is stored. Of a secret only that there is one. */
const STORED_VALUES = { name: "shop", port: 8080, size: "small", is_public: false, note: "Open" };

const sent: unknown[] = [];
const refusals: ProblemBody[] = [];

/** What the forms sent, and how the API answers what they send next. */
export const forms = {
  sent,
  refuse(errors: Readonly<Record<string, readonly string[]>>, message = "Validation failed."): void {
    refusals.push({ message, code: "request.invalid", request_id: "r1", errors } as unknown as ProblemBody);
  },
};

async function submit(values: unknown): Promise<unknown> {
  sent.push(values);
  const refusal = refusals.shift();
  if (refusal !== undefined) throw new RestError(refusal);
  return {};
}

export const ChangeForm = () => (
  <SchemaForm
    schema={Shop.partial()}
    groups={GROUPS}
    values={STORED_VALUES}
    placeholders={{ password: STORED }}
    hasCode={false}
    submitLabel="Save shop"
    submit={submit}
  />
);

export const CreateForm = () => (
  <SchemaForm
    schema={Shop}
    groups={GROUPS}
    values={{}}
    fixed={{ note: "Fixed" }}
    isNew
    hasCode={false}
    submitLabel="Create shop"
    submit={submit}
  />
);
