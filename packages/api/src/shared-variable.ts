import type { SharedOwnerRef } from "@berth/control";
import { Message } from "@berth/core";
import { SharedVariable, SharedVariableBulk, SharedVariableCreate } from "@berth/core/env";
import type { Paging } from "@berth/core/ports";
import { z } from "zod";
import { listed, paging } from "./list.ts";
import { operation } from "./operation.ts";
import type { OperationOptions, Path, Tag } from "./operation-options.ts";

const project = z.string().describe("The project's identifier.");
const environment_name_or_uuid = z.string().describe("The environment's name, or its identifier.");
const server = z.string().describe("The server's identifier.");

/** Shared variables of each scope, from one definition. */
export const sharedVariables = {
  team: variablesOf("team", { path: "/teams/current", tag: "Teams", owner: {} }),
  project: variablesOf("project", { path: "/projects/{uuid}", tag: "Projects", owner: { uuid: project } }),
  environment: variablesOf("environment", {
    path: "/projects/{uuid}/environments/{environment_name_or_uuid}",
    tag: "Projects",
    owner: { uuid: project, environment_name_or_uuid },
  }),
  server: variablesOf("server", { path: "/servers/{uuid}", tag: "Servers", owner: { uuid: server } }),
};

interface ScopePath<Owner extends z.ZodRawShape> {
  readonly path: Path;
  readonly tag: Tag;
  /** Path parameters that identify the owner. */
  readonly owner: Owner;
}

interface OnScope extends Omit<OperationOptions, "path" | "tag" | "ability"> {
  readonly ability: "read" | "write";
  /** Below the owner's variables. */
  readonly path: Path | "";
}

function variablesOf<Owner extends z.ZodRawShape>(
  scope: SharedOwnerRef["scope"],
  { path, tag, owner }: ScopePath<Owner>,
) {
  const anOwner = `${/^[aeiou]/.test(scope) ? "an" : "a"} ${scope}`;
  const on = <Shape extends z.ZodRawShape>(options: OnScope, sent: z.ZodObject<Shape>) => {
    const operationId = options.operationId.replace("{scope}", scope);
    const whole: unknown = z.strictObject({ ...sent.shape, ...owner });
    return operation({ ...options, path: `${path}/shared-variables${options.path}`, tag, operationId }).input(
      // TypeScript cannot compute the type of two spread generic shapes.
      whole as z.ZodObject<Shape & Owner, z.core.$strict>,
    );
  };
  /** Splits an input into the owner and the rest: `on` merged exactly these two. */
  const parted = <Sent extends object>(input: object | undefined = {}) => {
    const keys = Object.entries(input);
    const ref = { scope, ...Object.fromEntries(keys.filter(([key]) => key in owner)) } as SharedOwnerRef;
    return { ref, sent: Object.fromEntries(keys.filter(([key]) => !(key in owner))) as Sent };
  };

  return {
    list: on(
      {
        method: "GET",
        path: "",
        operationId: "list-shared-variables-by-{scope}",
        summary: `List the shared variables of ${anOwner}`,
        description: "Values are returned only to tokens with `read:sensitive`.",
        ability: "read",
      },
      z.strictObject(paging),
    )
      .output(z.array(SharedVariable))
      .query(async ({ ctx, input }) => {
        const { ref, sent: page } = parted<Paging>(input);
        return [...listed(ctx, await ctx.control.sharedVariables.list(ref, page), page)];
      }),

    create: on(
      {
        method: "POST",
        path: "",
        operationId: "create-shared-variable-by-{scope}",
        summary: `Create a shared variable of ${anOwner}`,
        description:
          `Environment variables of all that belongs to the ${scope} may refer to it as \`{{ ${scope}.KEY }}\`. ` +
          "A change takes effect with the next deployment.",
        ability: "write",
        status: 201,
        errors: ["resource.already_exists"],
      },
      SharedVariableCreate,
    )
      .output(SharedVariable)
      .mutation(({ ctx, input }) => {
        const { ref, sent } = parted<SharedVariableCreate>(input);
        return ctx.control.sharedVariables.create(ref, sent);
      }),

    update: on(
      {
        method: "PATCH",
        path: "",
        operationId: "update-shared-variable-by-{scope}",
        summary: `Change a shared variable of ${anOwner}`,
        description: "`key` selects the variable. Omitted fields keep their values.",
        ability: "write",
        errors: ["resource.not_found"],
      },
      SharedVariableCreate,
    )
      .output(SharedVariable)
      .mutation(({ ctx, input }) => {
        const { ref, sent } = parted<SharedVariableCreate>(input);
        return ctx.control.sharedVariables.update(ref, sent);
      }),

    updateBulk: on(
      {
        method: "PATCH",
        path: "/bulk",
        operationId: "update-shared-variables-by-{scope}",
        summary: `Create or change several shared variables of ${anOwner}`,
        description: "Each is selected by its key. All of them are saved, or none.",
        ability: "write",
      },
      SharedVariableBulk,
    )
      .output(z.array(SharedVariable))
      .mutation(({ ctx, input }) => {
        const { ref, sent } = parted<SharedVariableBulk>(input);
        return ctx.control.sharedVariables.updateBulk(ref, sent);
      }),

    delete: on(
      {
        method: "DELETE",
        path: "/{variable_uuid}",
        operationId: "delete-shared-variable-by-{scope}",
        summary: `Delete a shared variable of ${anOwner}`,
        description: "References to it stay unresolved in the next deployment, whose log reports them.",
        ability: "write",
      },
      z.strictObject({ variable_uuid: z.string().describe("The shared variable's identifier.") }),
    )
      .output(Message)
      .mutation(({ ctx, input }) => {
        const { ref, sent } = parted<{ readonly variable_uuid: string }>(input);
        return ctx.control.sharedVariables.delete(ref, sent.variable_uuid);
      }),
  };
}
