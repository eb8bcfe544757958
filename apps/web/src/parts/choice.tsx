import { Select, type SelectProps } from "@mantine/core";
import { useState } from "react";

/**
 * A field with a list of choices. The list is drawn once the field is focused, since with the field it takes ten times
 * as long as a field for text. Opening is too late: the chosen entry would not be the active one for the keyboard.
 */
export function Choice(props: SelectProps) {
  const [wasFocused, setFocused] = useState(false);
  return <Select {...props} comboboxProps={{ keepMounted: wasFocused }} onFocus={() => setFocused(true)} />;
}
