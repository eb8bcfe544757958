import "./nonce.ts";
import "./without-eval.ts";
import "./styles/mantine.ts";
import "./styles/berth.css";
import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode, startTransition } from "react";
import { createRoot } from "react-dom/client";
import { queryClient } from "./api/client.ts";
import { router } from "./router.tsx";
import { cssVariables, theme } from "./styles/theme.ts";

// After an update, an old tab requests files that no longer exist: reload to get the new build.
window.addEventListener("vite:preloadError", () => window.location.reload());

const root = document.getElementById("root");
if (root === null) throw new Error("The page has no element with the id root.");
const page = createRoot(root);
// In slices, so that the page reacts while it is drawn for the first time.
startTransition(() =>
  page.render(
    <StrictMode>
      <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
        <QueryClientProvider client={queryClient}>
          <Notifications position="bottom-right" autoClose={6000} />
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  ),
);
