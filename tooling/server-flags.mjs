// V8 sizes its heap by the machine: on a large one it collects so late that an idle server grows to several hundred MB.
export const SERVER_FLAGS = ["--max-semi-space-size=8", "--max-old-space-size=192"];
