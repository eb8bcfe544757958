import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { type ReactNode, StrictMode, startTransition } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "../api/client.ts";
import { cssVariables, theme } from "../styles/theme.ts";

/** Draws the page's content, in slices, so that the page reacts while it is drawn for the first time. */
export function draw(content: ReactNode): void {
  const root = document.getElementById("root");
  if (root === null) throw new Error("The page has no element with the id root.");
  const page = createRoot(root);
  startTransition(() =>
    page.render(
      <StrictMode>
        <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
          <QueryClientProvider client={queryClient}>{content}</QueryClientProvider>
        </MantineProvider>
      </StrictMode>,
    ),
  );
}
