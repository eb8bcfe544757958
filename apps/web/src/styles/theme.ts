import { type CSSVariablesResolver, createTheme } from "@mantine/core";

/** Colours of buttons, shades and dimmed texts are chosen so that axe reports nothing in both colour schemes, at rest and hovered. */
export const theme = createTheme({
  primaryColor: "indigo",
  primaryShade: 8,
  autoContrast: true,
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
  fontSizes: { xs: "0.75rem", sm: "0.8125rem", md: "0.875rem", lg: "1rem", xl: "1.125rem" },
  headings: {
    fontWeight: "600",
    sizes: { h1: { fontSize: "1.25rem" }, h2: { fontSize: "1rem" }, h3: { fontSize: "0.875rem" } },
  },
  defaultRadius: "sm",
  respectReducedMotion: true,
  components: {
    Notification: { defaultProps: { closeButtonProps: { "aria-label": "Dismiss" } } },
    Modal: { defaultProps: { closeButtonProps: { "aria-label": "Close" }, transitionProps: { duration: 120 } } },
    // A link in a sentence must be recognisable without its colour.
    Anchor: { defaultProps: { underline: "always" } },
    Button: { defaultProps: { size: "xs" } },
    TextInput: { defaultProps: { size: "sm" } },
    Table: { defaultProps: { verticalSpacing: 6, horizontalSpacing: "sm" } },
  },
});

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    "--mantine-color-error": "var(--mantine-color-red-9)",
    "--mantine-color-dimmed": "var(--mantine-color-gray-7)",
    "--mantine-color-anchor": "var(--mantine-color-indigo-8)",
    "--mantine-color-placeholder": "var(--mantine-color-gray-6)",
    // Of what is hovered: Mantine's own has too little contrast to the text on it.
    "--mantine-color-indigo-light-hover":
      "color-mix(in srgb, var(--mantine-color-indigo-1), var(--mantine-color-indigo-2) 35%)",
    "--mantine-color-red-outline": "var(--mantine-color-red-9)",
  },
  dark: {
    "--mantine-color-error": "var(--mantine-color-red-4)",
    "--mantine-color-dimmed": "var(--mantine-color-dark-1)",
    "--mantine-color-anchor": "var(--mantine-color-indigo-3)",
    "--mantine-color-placeholder": "var(--mantine-color-dark-2)",
  },
});
