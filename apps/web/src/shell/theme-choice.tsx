import { type MantineColorScheme, Menu, useMantineColorScheme } from "@mantine/core";

const SCHEMES: readonly { readonly value: MantineColorScheme; readonly label: string }[] = [
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
  { value: "auto", label: "As the system" },
];

export function ThemeChoice() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <>
      <Menu.Label>Theme</Menu.Label>
      {SCHEMES.map(({ value, label }) => (
        <Menu.Item
          key={value}
          role="menuitemradio"
          aria-checked={colorScheme === value}
          onClick={() => setColorScheme(value)}
          rightSection={colorScheme === value ? "✓" : undefined}
        >
          {label}
        </Menu.Item>
      ))}
    </>
  );
}
