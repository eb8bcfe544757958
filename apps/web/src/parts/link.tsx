import { Anchor, type AnchorProps, Button, type ButtonProps, NavLink, type NavLinkProps } from "@mantine/core";
import { createLink } from "@tanstack/react-router";
import type { ComponentProps } from "react";

// Mantine's components accept any element; a router's link is always an anchor.
type With<Props> = Props & Omit<ComponentProps<"a">, keyof Props>;

export const TextLink = createLink((props: With<AnchorProps>) => <Anchor {...props} />);
export const ButtonLink = createLink((props: With<ButtonProps>) => <Button component="a" {...props} />);
export const NavigationLink = createLink((props: With<NavLinkProps>) => <NavLink {...props} />);
