{
  description = "The file-editing engine for AI coding agents";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      each = f: nixpkgs.lib.genAttrs systems (system: f nixpkgs.legacyPackages.${system});
    in
    {
      packages = each (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "emend";
          version = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).workspace.package.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "-p" "emendate-cli" ];
          # The tests need programs and a network that the sandbox lacks; CI runs them.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = ''
            installShellCompletion --cmd emend \
              --bash <($out/bin/emend completions bash) \
              --zsh <($out/bin/emend completions zsh) \
              --fish <($out/bin/emend completions fish)
            $out/bin/emend man > emend.1
            installManPage emend.1
          '';
          meta.mainProgram = "emend";
        };
      });
      devShells = each (pkgs: {
        default = pkgs.mkShell { packages = [ pkgs.cargo pkgs.rustc pkgs.clippy pkgs.rustfmt pkgs.git ]; };
      });
    };
}
