class Emend < Formula
  desc "{{description}}"
  homepage "{{repository}}"
  version "{{version}}"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "{{base}}/emend-{{version}}-aarch64-apple-darwin.tar.gz"
      sha256 "{{sha256:aarch64-apple-darwin}}"
    end
    on_intel do
      url "{{base}}/emend-{{version}}-x86_64-apple-darwin.tar.gz"
      sha256 "{{sha256:x86_64-apple-darwin}}"
    end
  end
  on_linux do
    on_arm do
      url "{{base}}/emend-{{version}}-aarch64-unknown-linux-musl.tar.gz"
      sha256 "{{sha256:aarch64-unknown-linux-musl}}"
    end
    on_intel do
      url "{{base}}/emend-{{version}}-x86_64-unknown-linux-musl.tar.gz"
      sha256 "{{sha256:x86_64-unknown-linux-musl}}"
    end
  end

  def install
    bin.install "emend"
    man1.install "emend.1"
    bash_completion.install "completions/emend.bash" => "emend"
    zsh_completion.install "completions/_emend"
    fish_completion.install "completions/emend.fish"
  end

  test do
    (testpath/"a.txt").write "one\ntwo\n"
    system bin/"emend", "edit", "a.txt", "--old", "two", "--new", "three"
    assert_equal "one\nthree\n", (testpath/"a.txt").read
  end
end
