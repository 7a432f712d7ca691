import java.io.DataInputStream;
import java.io.FileInputStream;
import org.apache.kafka.common.utils.Utils;

/** Reads keys from a file, each as one byte of length and its bytes. Prints Utils.murmur2 of each. */
public class Murmur2 {
    public static void main(String[] args) throws Exception {
        try (DataInputStream in = new DataInputStream(new FileInputStream(args[0]))) {
            int length;
            while ((length = in.read()) >= 0) {
                byte[] key = new byte[length];
                in.readFully(key);
                System.out.println(Utils.murmur2(key));
            }
        }
    }
}
