import Foundation
import TestSupport
import Testing

/// A repeated `scripts/up` runs SwiftPM only when there may be something to build.
@Suite struct SecondBuildTests {
    /// A checkout with a source, and a fake `swift` that creates executables and counts its calls.
    private static let script = """
        set -euo pipefail
        cd "$1"
        mkdir -p scripts/lib/setup Services Shared bin .build/release
        mkdir -p scripts/lib && cp "$2"/scripts/lib/*.sh scripts/lib/
        : >Package.swift
        : >Services/a.swift
        echo 'Swift version 6.3' >version
        echo '"revision" : "1",' >Package.resolved
        cat >bin/swift <<'END'
        #!/bin/bash
        [[ $1 == build ]] || exec cat version
        [[ ! -e broken ]] || exit 7
        echo built >>calls
        for name in satchel satchel-setup; do install -m 755 /dev/null .build/release/$name; done
        END
        chmod 755 bin/swift
        export PATH=$PWD/bin:$PATH
        . scripts/lib/common.sh
        calls() { wc -l <calls; }
        echo 'of an earlier release' >.build/release/bag
        build_shop; echo "first $(calls)"
        readlink .build/release/bag
        build_shop; echo "again $(calls)"
        echo 'let a = 1' >Services/a.swift
        build_shop; echo "changed $(calls)"
        : >Shared/b.swift
        build_shop; echo "added $(calls)"
        rm Shared/b.swift
        build_shop; echo "removed $(calls)"
        rm .build/release/satchel-setup
        build_shop; echo "lost $(calls)"
        rm .build/release/mail
        install -m 755 -D /dev/null old/bag
        touch -d '-1 hour' old/bag
        cp --remove-destination -p old/bag .build/release/bag
        build_shop; echo "linked $(calls) $(readlink .build/release/bag .build/release/mail | sort -u)"
        touch broken
        if build; then echo built; else echo "failed $?"; fi
        rm broken
        touch -d '+1 minute' .build/release/bag
        build_shop; echo "replaced $(calls)"
        build_shop; echo "again $(calls)"
        echo 'Swift version 6.4' >version
        build_shop; echo "toolchain $(calls)"
        echo '"revision" : "2",' >>Package.resolved
        build_shop; echo "a dependency of the tests $(calls)"
        echo '"revision" : "3",' >Package.resolved
        build_shop; echo "another dependency $(calls)"
        build_shop; echo "again $(calls)"
        """

    @Test func nothingIsPlannedWhereNothingChanged() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/satchel-build-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let told = try await Command.run(["/bin/bash", "-c", Self.script, "build", folder, checkoutDirectory])
        let lines = told.split(separator: "\n").map(String.init)
        #expect(
            lines == [
                "first 1", "satchel", "again 1", "changed 2", "added 3", "removed 4", "lost 5",
                "linked 5 satchel", "failed 7", "replaced 6", "again 6",
                "toolchain 7", "a dependency of the tests 7", "another dependency 8", "again 8",
            ])
    }
}
