import Foundation
import ParseProtocol
import Platform

/// Makes pictures from a photo: the two of a product, and those in the widths of `PictureWidths`. They are upright,
/// without metadata (such as place and author), and never enlarged.
package final class PhotoStudio: Sendable {
    package static let thumbnailWidth = 408
    package static let fullWidth = 1632
    /// A good phone camera takes 12 to 48 million. A file of a few kilobytes can claim a billion.
    package static let pixelsMax = 50_000_000
    /// Photos processed at once; each uses one core.
    private static let workersMax = 2
    /// Maximum waiting photos, a few seconds of work; beyond it the caller is asked to retry later.
    private static let waitingMax = 32

    private let folder: FileFolder
    private let queue = OperationQueue()

    /// A picture on the disk that has no row yet.
    package struct Picture: Sendable {
        let entry: FileTable.Entry
        package var file: JSON { ["__type": "File", "name": .string(entry.name)] }
    }

    package init(folder: FileFolder) {
        self.folder = folder
        queue.maxConcurrentOperationCount = Self.workersMax
    }

    /// - Parameters:
    ///   - name: the photo's stored name.
    ///   - path: of a copy of the photo; nil when the folder has it.
    /// - Throws: `.invalidImageData` (150) when the file is not a photo, `.fileSaveError` (130) when the pictures
    ///   cannot be saved, `.serviceUnavailable` (2) when too many photos wait.
    package func pictures(
        of name: String, at path: String? = nil
    ) async throws -> (full: Picture, thumbnail: Picture) {
        guard queue.operationCount < Self.workersMax + Self.waitingMax else {
            throw ParseError(.serviceUnavailable, "Too many photos are being worked on. Try again later.")
        }
        return try await withCheckedThrowingContinuation { continuation in
            queue.addOperation { [self] in
                continuation.resume(with: Result { try make(name, path ?? folder.location(of: name)) })
            }
        }
    }

    /// A picture of at most this width, in WebP or in the type of a JPEG or PNG photo. Photos of products go first, and
    /// so do other processes of the machine.
    /// - Parameters:
    ///   - photo: the photo's path.
    ///   - work: a folder for temporary files.
    /// - Throws: `.invalidImageData` (150) when the file is not a photo.
    func picture(
        of photo: String, width: Int, asWebP: Bool, in work: String
    ) async throws -> (content: [UInt8], kind: PictureFolder.Kind) {
        try await withCheckedThrowingContinuation { continuation in
            let operation = BlockOperation { [self] in
                continuation.resume(with: Result { try shrunk(photo, width, asWebP, work) })
            }
            operation.queuePriority = .low
            queue.addOperation(operation)
        }
    }

    /// Whether the installed libvips writes WebP. The first call blocks.
    static let writesWebP =
        LimitedCommand(arguments: ["/usr/bin/vips", "webpsave"], secondsMax: 4).run() == 0

    private func shrunk(
        _ photo: String, _ width: Int, _ asWebP: Bool, _ work: String
    ) throws -> (content: [UInt8], kind: PictureFolder.Kind) {
        let header = try checkedHeader(of: photo, work, yields: true)
        let kind: PictureFolder.Kind = asWebP ? .webp : header.isPNG || header.hasAlpha ? .png : .jpg
        let target = "\(work)/picture.\(kind.rawValue)"
        guard
            shrink(
                photo, to: width, target, hasProfile: hasProfile(photo, work, yields: true), secondsMax: 8, yields: true
            ), let content = FileManager.default.contents(atPath: target)
        else { throw Self.broken }
        return (Array(content), kind)
    }

    private static let broken = invalid("The image is broken, or too large to process.")

    private static func invalid(_ why: String) -> ParseError { ParseError(.invalidImageData, why) }

    private func make(_ name: String, _ photo: String) throws -> (full: Picture, thumbnail: Picture) {
        let work: String
        do {
            work = try folder.makeWorkFolder()
        } catch {
            throw ParseError(.fileSaveError, "The pictures could not be saved.")
        }
        defer { try? FileManager.default.removeItem(atPath: work) }
        let kind = try checkedHeader(of: photo, work).hasAlpha ? "png" : "jpg"
        let full = "\(work)/full.\(kind)"
        let thumbnail = "\(work)/thumbnail.\(kind)"
        // The photo is decoded once; the small picture is made from the large one.
        guard shrink(photo, to: Self.fullWidth, full, hasProfile: hasProfile(photo, work), secondsMax: 8),
            shrink(full, to: Self.thumbnailWidth, thumbnail, secondsMax: 4)
        else { throw Self.broken }
        let original = FileNames.original(name)
        let title = original.lastIndex(of: ".").map { String(original[..<$0]) } ?? original
        return (
            try keep(full, as: "\(title).\(kind)", kind), try keep(thumbnail, as: "\(title)-small.\(kind)", kind)
        )
    }

    /// The header of a photo whose dimensions are acceptable, before anything decodes it.
    private func checkedHeader(of photo: String, _ work: String, yields: Bool = false) throws -> PhotoHeader {
        guard let start = try? folder.read(file: photo, offset: 0, length: 16), PhotoHeader.isPhoto(start) else {
            throw Self.invalid("The file is not a JPEG, PNG, GIF, WebP or HEIC image.")
        }
        let output = "\(work)/header"
        let command = LimitedCommand(
            arguments: ["/usr/bin/vipsheader", photo], secondsMax: 4, output: output, yields: yields)
        guard command.run() == 0, let bytes = FileManager.default.contents(atPath: output),
            let header = PhotoHeader(String(decoding: bytes, as: UTF8.self))
        else { throw Self.invalid("The image is broken.") }
        guard header.width <= Self.pixelsMax / header.height else {
            throw Self.invalid("The image has more than \(Self.pixelsMax) pixels.")
        }
        return header
    }

    /// Whether the photo has a colour profile.
    private func hasProfile(_ photo: String, _ work: String, yields: Bool = false) -> Bool {
        LimitedCommand(
            arguments: ["/usr/bin/vipsheader", "-f", "icc-profile-data", photo], secondsMax: 4,
            output: "\(work)/profile", yields: yields
        ).run() == 0
    }

    /// Shrinks an image to a maximum width. A truncated image is an error instead of a grey area.
    /// - Parameter hasProfile: converts the colours to sRGB. Without a profile the colours are sRGB already, and
    ///   libvips would assume another profile.
    private func shrink(
        _ source: String, to width: Int, _ target: String, hasProfile: Bool = false, secondsMax: Int,
        yields: Bool = false
    ) -> Bool {
        let isWebP = target.hasSuffix(".webp")
        let options =
            isWebP
            ? "[Q=80,strip]" : target.hasSuffix(".png") ? "[compression=6,strip]" : "[Q=86,strip,optimize-coding]"
        return LimitedCommand(
            arguments: [
                "/usr/bin/vips", "thumbnail", source, target + options, "\(width)",
                // A side of a WebP picture has at most 16,383 pixels.
                "--height", isWebP ? "16383" : "1000000", "--size", "down", "--fail-on", "truncated",
            ] + (hasProfile ? ["--export-profile", "srgb"] : []), secondsMax: secondsMax, yields: yields
        ).run() == 0
    }

    private func keep(_ file: String, as name: String, _ kind: String) throws -> Picture {
        let kept = FileNames.storedName(name)
        do {
            let size = try folder.adopt(file, as: kept)
            return Picture(
                entry: .init(name: kept, contentType: kind == "png" ? "image/png" : "image/jpeg", size: size))
        } catch {
            throw ParseError(.fileSaveError, "The pictures could not be saved.")
        }
    }
}
