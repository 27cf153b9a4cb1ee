import java.io.InputStream;
import org.netcrusher.tcp.main.TcpCrusherMain;

/** Starts the published program, which would end with its standard input: this one never says anything, nor ends. */
public final class Start {
  public static void main(String[] arguments) throws Exception {
    System.setIn(
        new InputStream() {
          @Override
          public synchronized int read() {
            while (true) {
              try {
                wait();
              } catch (InterruptedException error) {
                return -1;
              }
            }
          }
        });
    TcpCrusherMain.main(arguments);
  }
}
