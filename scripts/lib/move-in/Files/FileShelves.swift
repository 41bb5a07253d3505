import Foundation

/// Finds the files of an old server.
enum FileShelves {
    /// - Parameters:
    ///   - places: of `--files`: folders, `s3://bucket/prefix`, and `https://…/` prefixes.
    ///   - source: SOURCE. A folder of mongodump may have files in GridFS, a server shows them at its own address.
    ///   - variables: with the keys of buckets.
    /// - Throws: `MoveInError` for a place that is none of these, or cannot be read.
    static func open(
        _ places: [String], source: String, http: PatientHTTP,
        variables: [String: String] = ProcessInfo.processInfo.environment
    ) throws -> [any FileShelf] {
        var shelves: [any FileShelf] = []
        var prefixes: [String] = []
        for place in places {
            if place.hasPrefix(BucketShelf.scheme) {
                shelves.append(try BucketShelf(place, variables, http: http))
            } else if place.contains("://") {
                prefixes.append(place)
            } else if let dumped = try GridFSShelf.open(place) {
                shelves.append(dumped)
            } else {
                shelves.append(try FolderShelf(place))
            }
        }
        if FolderListing.isFolder(source) {
            let folders = try FolderListing.paths(source).filter(FolderListing.isFolder)
            for folder in [source] + folders {
                if let dumped = try GridFSShelf.open(folder) { shelves.append(dumped) }
            }
        }
        for prefix in prefixes { shelves.append(try WebShelf(prefix: prefix, http: http)) }
        let trusted = WebShelf.hosted + prefixes + [origin(of: source)].compactMap(\.self)
        shelves.append(try WebShelf(trusted: trusted, http: http))
        return shelves
    }

    /// The scheme, host and port of an old server; nil for another kind of source.
    private static func origin(of source: String) -> String? {
        guard var parts = URLComponents(string: source), ["http", "https"].contains(parts.scheme?.lowercased()) else {
            return nil
        }
        (parts.user, parts.password, parts.path, parts.query, parts.fragment) = (nil, nil, "/", nil, nil)
        return parts.string
    }
}
