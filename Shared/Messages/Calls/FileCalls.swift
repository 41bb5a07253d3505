/// Uploaded files, which `catalog` keeps.
public enum FileCalls {
    /// Keeps a file for ever. Sender: gateway.
    public static let save = Call<SaveFileRequest, Accepted>("catalog.saveFile.v1")
    /// A file's type, size and metadata, and a part of its content. Sender: gateway.
    public static let get = Call<FileRequest, FileReply>("catalog.file.v1")
    /// Removes a file. Sender: gateway.
    public static let delete = Call<DeleteFileRequest, Accepted>("catalog.deleteFile.v1")

    static let all: [any DeclaredCall] = [save, get, delete]
}
