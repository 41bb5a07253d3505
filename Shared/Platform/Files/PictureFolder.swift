import Foundation
import Glibc
import ParseProtocol
import Synchronization

/// Shrunk pictures on the disk: `pictures/<first two digits>/<digits of the file's name>-<width>.<type>` below the data
/// directory. Each can be made again, so that backups omit them and the operator may delete them. Beyond the limit
/// the folder removes the pictures that no request has read for the longest time. Its functions block.
package final class PictureFolder: Sendable {
    /// The type of a shrunk picture.
    package enum Kind: String, CaseIterable, Sendable {
        case webp, jpg, png

        package var contentType: String { self == .jpg ? "image/jpeg" : "image/\(rawValue)" }
    }

    /// A picture in the folder.
    package struct Found: Sendable, Equatable {
        package let path: String
        package let kind: Kind
        package let size: Int
    }

    private struct Count {
        /// Bytes in the folder when it was last listed, and of the pictures added since.
        var bytes = 0
        /// Pictures to add before the folder is listed again.
        var left = 0
    }

    /// Replicas share the folder, so each of them lists it again after this many additions of its own.
    private static let listedEvery = 32
    /// An unfinished file of this age belongs to no running request.
    private static let abandonedAfter: TimeInterval = 3600

    private let path: String
    private let bytesMax: Int
    private let count = Mutex(Count())

    /// - Parameters:
    ///   - dataDirectory: the suite's directory; the first picture creates the folder in it.
    ///   - bytesMax: for all pictures together, in blocks of the disk.
    package init(dataDirectory: String, bytesMax: Int) {
        path = Self.path(dataDirectory)
        self.bytesMax = bytesMax
    }

    /// The picture of a stored file in one of the types; nil when the folder has none.
    package func find(_ name: String, _ width: Int, _ kinds: [Kind]) -> Found? {
        for kind in kinds {
            let file = Self.location(name, width, kind, in: path)
            var status = stat()
            guard lstat(file, &status) == 0 else { continue }
            // The time of its last use.
            utimes(file, nil)
            return Found(path: file, kind: kind, size: Int(status.st_size))
        }
        return nil
    }

    /// Adds a picture, and makes room for it. Without space on the disk nothing is added.
    package func add(_ content: [UInt8], _ name: String, _ width: Int, _ kind: Kind) {
        let file = Self.location(name, width, kind, in: path)
        let folder = "\(path)/\(name.prefix(2))"
        let draft = "\(folder)/.\(Names.random(20))"
        do {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            // Synced, because a power failure must leave no part of a picture under its name.
            try DurableFile.draft(content, as: draft)
        } catch {
            return
        }
        guard rename(draft, file) == 0 else {
            unlink(draft)
            return
        }
        count.withLock { count in
            count.bytes += Self.taken(content.count)
            count.left -= 1
            guard count.left < 0 || count.bytes > bytesMax else { return }
            count = Count(bytes: trim(), left: Self.listedEvery)
        }
    }

    /// Removes the pictures made from a file.
    static func remove(_ name: String, dataDirectory: String) {
        for width in PictureWidths.all {
            for kind in Kind.allCases { unlink(location(name, width, kind, in: path(dataDirectory))) }
        }
    }

    private static func path(_ dataDirectory: String) -> String { dataDirectory + "/pictures" }

    private static func location(_ name: String, _ width: Int, _ kind: Kind, in path: String) -> String {
        "\(path)/\(name.prefix(2))/\(name.prefix(32))-\(width).\(kind.rawValue)"
    }

    /// Bytes on a disk with blocks of 4 KiB.
    private static func taken(_ size: Int) -> Int { (size + 4095) & ~4095 }

    /// Removes the pictures that were not used for the longest time, down to nine tenths of the limit.
    /// - Returns: the bytes that are left.
    private func trim() -> Int {
        var files: [(path: String, bytes: Int, used: TimeInterval)] = []
        for shard in Self.names(in: path) {
            for name in Self.names(in: "\(path)/\(shard)") {
                let file = "\(path)/\(shard)/\(name)"
                var status = stat()
                guard lstat(file, &status) == 0 else { continue }
                let used = TimeInterval(status.st_mtim.tv_sec) + TimeInterval(status.st_mtim.tv_nsec) / 1e9
                if name.hasPrefix("."), used < Date.now.timeIntervalSince1970 - Self.abandonedAfter {
                    unlink(file)
                } else {
                    files.append((path: file, bytes: Self.taken(Int(status.st_size)), used: used))
                }
            }
        }
        var bytes = files.reduce(0) { $0 + $1.bytes }
        guard bytes > bytesMax else { return bytes }
        for file in files.sorted(by: { $0.used < $1.used }) where bytes > bytesMax / 10 * 9 {
            unlink(file.path)
            bytes -= file.bytes
        }
        return bytes
    }

    private static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }
}
