# Installs emend {{version}} into the home directory, without administrator rights:
#   irm {{base}}/install.ps1 | iex
# $env:EMEND_INSTALL_DIR   the directory of the program; %LOCALAPPDATA%\Programs\emend otherwise
# $env:EMEND_BASE_URL      where the archives are
# $env:EMEND_UNINSTALL     set to 1 to remove what was installed
$ErrorActionPreference = 'Stop'
$version = '{{version}}'
$base = if ($env:EMEND_BASE_URL) { $env:EMEND_BASE_URL } else { '{{base}}' }
$bin = if ($env:EMEND_INSTALL_DIR) { $env:EMEND_INSTALL_DIR } else { Join-Path $env:LOCALAPPDATA 'Programs\emend' }

# Names and SHA-256 checksums of the archives of this version.
$checksums = @'
{{sums}}
'@

function Set-UserPath([string] $directory, [bool] $add) {
    $old = [Environment]::GetEnvironmentVariable('Path', 'User')
    $parts = @($old -split ';' | Where-Object { $_ -and $_ -ne $directory })
    if ($add) { $parts += $directory }
    [Environment]::SetEnvironmentVariable('Path', ($parts -join ';'), 'User')
}

if ($env:EMEND_UNINSTALL -eq '1') {
    Remove-Item -Force (Join-Path $bin 'emend.exe')
    Set-UserPath $bin $false
    Write-Output "removed $bin\emend.exe; your settings and history are kept"
    return
}

$target = switch ($env:PROCESSOR_ARCHITECTURE) {
    'AMD64' { 'x86_64-pc-windows-gnu' }
    default { throw "there is no build for Windows on $_; build from source with: cargo install emendate-cli" }
}
$archive = "emend-$version-$target.zip"
$line = $checksums -split "`r?`n" | Where-Object { $_ -like "* $archive" }
if (-not $line) { throw "this release has no archive for $target" }
$expected = ($line -split ' +')[0]
$work = Join-Path ([IO.Path]::GetTempPath()) ([IO.Path]::GetRandomFileName())
New-Item -ItemType Directory $work | Out-Null
try {
    Invoke-WebRequest -UseBasicParsing "$base/$archive" -OutFile "$work\$archive"
    $found = (Get-FileHash -Algorithm SHA256 "$work\$archive").Hash.ToLowerInvariant()
    if ($found -ne $expected) { throw "the checksum of $archive is $found, not $expected; nothing was installed" }
    Expand-Archive "$work\$archive" $work
    New-Item -ItemType Directory -Force $bin | Out-Null
    Copy-Item -Force "$work\emend-$version-$target\emend.exe" $bin
    Set-UserPath $bin $true
    Write-Output "installed emend $version as $bin\emend.exe; open a new terminal, then: emend tour, emend setup"
} finally {
    Remove-Item -Recurse -Force $work
}
