import type { Ability } from "@berth/core/team";
import { Button, type ButtonProps, Tooltip } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ComponentPropsWithoutRef } from "react";
import { trpc } from "../api/client.ts";

/** `owner`: that role; `null`: nothing, since it concerns the user alone. */
export type Needs = Ability | "owner" | null;

/** Why the user may not do something in this team; `undefined` if they may. */
export function useRefusal(needs: Needs): string | undefined {
  const { data } = useQuery(trpc.auth.current.queryOptions());
  if (needs === null || data === undefined) return undefined;
  const { team, abilities } = data;
  if (needs === "owner" ? team.role === "owner" : abilities.includes(needs)) return undefined;
  return needs === "owner"
    ? `Your role in ${team.name} is ${team.role}. Only owners may do this.`
    : `Your role in ${team.name} is ${team.role}, which may only read. Ask an administrator of the team.`;
}

interface AllowedProps extends ButtonProps, Omit<ComponentPropsWithoutRef<"button">, keyof ButtonProps> {
  /** Default: `write`. */
  readonly needs?: Needs | undefined;
}

/** A button that says why the user may not press it. It can be focused all the same, so that everybody can learn why. */
export function AllowedButton({ needs = "write", ...button }: AllowedProps) {
  const reason = useRefusal(needs);
  if (reason === undefined) return <Button {...button} />;
  return (
    <Tooltip label={reason} multiline maw={280} events={{ hover: true, focus: true, touch: true }}>
      <Button {...button} type="button" disabled={false} data-disabled aria-disabled onClick={() => undefined} />
    </Tooltip>
  );
}
