// Runs before `npm pack` in the folder of a package: what is there are sources, which run nowhere else.
console.error("Packages are packed from their builds. In the folder of Berth run: npm run pack");
process.exit(1);
