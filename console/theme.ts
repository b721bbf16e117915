/** The theme, for light and dark. One accent; every other colour has a meaning. */
import { createTheme, defaultVariantColorsResolver, parseThemeColor, type MantineColorsTuple } from "@mantine/core";

const accent: MantineColorsTuple = [
  "#e9f7f1",
  "#d5ece2",
  "#abd8c4",
  "#7dc3a4",
  "#57b188",
  "#3ea777",
  "#2f9a6b",
  "#1f7f57",
  "#146b48",
  "#045939",
];

export const theme = createTheme({
  colors: { accent },
  primaryColor: "accent",
  primaryShade: { light: 8, dark: 7 },
  autoContrast: true,
  // Text on its own pale background needs enough contrast.
  variantColorResolver: (input) => {
    const colours = defaultVariantColorsResolver(input);
    const { color, isThemeColor } = parseThemeColor({
      color: input.color ?? input.theme.primaryColor,
      theme: input.theme,
    });
    // White on the default red has too little contrast in dark mode.
    if (input.variant === "filled" && color === "red")
      return {
        ...colours,
        background: "var(--mantine-color-red-9)",
        hover: "color-mix(in srgb, var(--mantine-color-red-9), black 15%)",
        color: "var(--mantine-color-white)",
      };
    if ((input.variant === "subtle" || input.variant === "outline") && color === "red")
      return { ...colours, color: "var(--change-red)" };
    if (input.variant !== "light" || !isThemeColor) return colours;
    return {
      ...colours,
      color: `light-dark(color-mix(in srgb, var(--mantine-color-${color}-9), black 30%), var(--mantine-color-${color}-2))`,
    };
  },
  fontFamily: "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', 'JetBrains Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace",
  fontSizes: { xs: "0.75rem", sm: "0.8125rem", md: "0.875rem", lg: "1rem", xl: "1.125rem" },
  lineHeights: { xs: "1.4", sm: "1.45", md: "1.5", lg: "1.5", xl: "1.5" },
  spacing: { xs: "0.5rem", sm: "0.75rem", md: "1rem", lg: "1.5rem", xl: "2rem" },
  headings: {
    fontWeight: "600",
    sizes: { h1: { fontSize: "1.375rem" }, h2: { fontSize: "1.0625rem" }, h3: { fontSize: "0.9375rem" } },
  },
  defaultRadius: "sm",
  cursorType: "pointer",
  focusRing: "auto",
  components: {
    Button: { defaultProps: { size: "xs" }, styles: { root: { maxWidth: "100%" } } },
    TextInput: { defaultProps: { size: "sm" } },
    Select: { defaultProps: { size: "sm", allowDeselect: false } },
    Table: { defaultProps: { verticalSpacing: 6, horizontalSpacing: "sm" } },
    Badge: { defaultProps: { radius: "sm", variant: "light" } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 250, events: { hover: true, focus: true, touch: true } } },
    Notification: { defaultProps: { closeButtonProps: { "aria-label": "Dismiss" } } },
    Drawer: { defaultProps: { position: "right", size: "lg" } },
  },
});
